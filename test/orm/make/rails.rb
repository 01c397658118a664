# Prints the SQL with which ActiveRecord's migrations make the shop's schema in
# an empty database, the one that PGHOST, PGPORT, PGUSER and PGDATABASE name.

require 'active_record'

class CreateShop < ActiveRecord::Migration[ActiveRecord::Migration.current_version]
  def change
    create_table :customers do |t|
      t.string :name, null: false
    end
    create_table :orders do |t|
      t.references :customer, null: false, foreign_key: true
      t.string :item, null: false
    end
    create_table :tags, id: :integer do |t|
      t.string :name, null: false
    end
    create_table :order_tags, primary_key: [:order_id, :tag_id] do |t|
      t.references :order, null: false, foreign_key: true, index: false
      t.references :tag, type: :integer, null: false, foreign_key: true
    end
    create_table :invoices, primary_key: :order_id, id: :bigint, default: nil do |t|
      t.foreign_key :orders
    end
  end
end

class AddShipments < ActiveRecord::Migration[ActiveRecord::Migration.current_version]
  def change
    create_table :shipments do |t|
      t.references :order, null: false, foreign_key: true
    end
  end
end

# In the order in which "rails db:migrate" runs the files of db/migrate
class Migrations < ActiveRecord::MigrationContext
  def migrations
    [CreateShop, AddShipments].each_with_index.map { |migration, i| migration.new(migration.name, 20260101000000 + i) }
  end
end

ActiveRecord::Base.establish_connection(adapter: 'postgresql', prepared_statements: false, advisory_locks: false)
ActiveRecord::Migration.verbose = false
ActiveSupport::Notifications.subscribe('sql.active_record') do |*, event|
  puts "#{event[:sql]};" unless event[:name] == 'SCHEMA' || event[:sql] =~ /\ASELECT/
end
Migrations.new([]).migrate
