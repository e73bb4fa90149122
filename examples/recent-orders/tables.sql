create table orders (id int primary key, customer text not null, total numeric not null, ordered_at timestamptz not null);
insert into orders values
  (1, 'ann', 10.50, '2026-01-01T09:00:00Z'),
  (2, 'bob', 20, '2026-01-02T09:00:00Z'),
  (3, 'ann', 5, '2026-01-03T09:00:00Z');
