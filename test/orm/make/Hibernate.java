// Prints the SQL with which Hibernate makes the shop's schema.

import java.io.Serializable;
import java.util.HashSet;
import java.util.Set;
import javax.persistence.*;
import org.hibernate.cfg.Configuration;
import org.hibernate.dialect.PostgreSQLDialect;

public class Hibernate
{
	@Entity @Table(name = "customer")
	public static class Customer
	{
		@Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
		@Column(nullable = false) String name;
	}

	@Entity @Table(name = "tag")
	public static class Tag
	{
		@Id @GeneratedValue(strategy = GenerationType.IDENTITY) Integer id;
		@Column(nullable = false) String name;
	}

	@Entity @Table(name = "orders")
	public static class Order
	{
		@Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
		@ManyToOne(optional = false) Customer customer;
		@Column(nullable = false) String item;
		@ManyToMany
		@JoinTable(name = "order_tag", joinColumns = @JoinColumn(name = "order_id"), inverseJoinColumns = @JoinColumn(name = "tag_id"))
		Set<Tag> tags = new HashSet<Tag>();
	}

	@Entity @Table(name = "invoice")
	public static class Invoice
	{
		@Id Long orderId;
		@MapsId @OneToOne(optional = false) @JoinColumn(name = "order_id") Order order;
	}

	public static void main(String[] arguments)
	{
		Configuration configuration = new Configuration()
			.addAnnotatedClass(Customer.class)
			.addAnnotatedClass(Tag.class)
			.addAnnotatedClass(Order.class)
			.addAnnotatedClass(Invoice.class);

		for (String sql : configuration.generateSchemaCreationScript(new PostgreSQLDialect()))
			System.out.println(sql + ";");
	}
}
