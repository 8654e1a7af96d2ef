CREATE TABLE IF NOT EXISTS product (
  id BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(100) NOT NULL,
  description VARCHAR(1000) NOT NULL,
  price INT NOT NULL,
  PRIMARY KEY (id)
);
-- Without foreign keys: the tables are filled and emptied one by one.
CREATE TABLE IF NOT EXISTS raffle (
  id BIGINT NOT NULL AUTO_INCREMENT,
  product_id BIGINT NOT NULL,
  title VARCHAR(100) NOT NULL,
  PRIMARY KEY (id),
  KEY raffle_product (product_id)
);
CREATE TABLE IF NOT EXISTS bid (
  id BIGINT NOT NULL AUTO_INCREMENT,
  raffle_id BIGINT NOT NULL,
  bidder VARCHAR(50) NOT NULL,
  amount INT NOT NULL,
  PRIMARY KEY (id),
  KEY bid_raffle (raffle_id)
);
