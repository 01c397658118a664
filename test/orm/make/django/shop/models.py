from django.db import models


class Customer(models.Model):
    name = models.CharField(max_length=100)


class Tag(models.Model):
    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=100)


class Order(models.Model):
    customer = models.ForeignKey(Customer, models.PROTECT)
    item = models.CharField(max_length=100)
    tags = models.ManyToManyField(Tag)


class Invoice(models.Model):
    order = models.OneToOneField(Order, models.PROTECT, primary_key=True)
