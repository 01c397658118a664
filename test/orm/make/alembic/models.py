from sqlalchemy import BigInteger, Column, ForeignKey, Integer, String, Table
from sqlalchemy.orm import declarative_base

Base = declarative_base()


class Customer(Base):
    __tablename__ = 'customer'
    id = Column(BigInteger, primary_key=True)
    name = Column(String(100), nullable=False)


class Tag(Base):
    __tablename__ = 'tag'
    id = Column(Integer, primary_key=True)
    name = Column(String(100), nullable=False)


class Order(Base):
    __tablename__ = 'order'
    id = Column(BigInteger, primary_key=True)
    customer_id = Column(ForeignKey('customer.id'), nullable=False)
    item = Column(String(100), nullable=False)


class Invoice(Base):
    __tablename__ = 'invoice'
    order_id = Column(ForeignKey('order.id'), primary_key=True)


OrderTag = Table(
    'order_tag', Base.metadata,
    Column('order_id', ForeignKey('order.id'), primary_key=True),
    Column('tag_id', ForeignKey('tag.id'), primary_key=True))
