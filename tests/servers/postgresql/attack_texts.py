"""What an experiment that means harm would have sent to a server of the user's.

`theirs` is a table of the user's, `theirview` a view on it, `Big` and `solo\\u00a0` two more tables, `delete` one with
the name of a word; `other` is a schema. `post` is a table that the script itself makes.
"""

STATEMENTS = r"""
INSERT INTO post VALUES (1, $$x$$)
INSERT INTO post VALUES (1, $a$x$a$)
INSERT INTO post VALUES (1, E'\'); DELETE FROM theirs; --')
INSERT INTO post VALUES (1, '\'); DELETE FROM theirs; --')
INSERT INTO post VALUES (1, U&'\0041')
INSERT INTO U&"\0074heirs" VALUES (1)
INSERT INTO post VALUES (1, 'a'/**/'b')
/* /* */ DELETE FROM theirs; */ DELETE FROM post
/* -- */ DELETE FROM theirs
DELETE FROM post; DELETE FROM theirs
DELETE FROM post;DELETE FROM theirs;
COPY theirs TO PROGRAM 'touch FILE'
COPY theirs TO 'FILE'
COPY post FROM '/etc/passwd'
COPY post FROM STDIN
DO $$ BEGIN DELETE FROM theirs; END $$
DO 'BEGIN DELETE FROM theirs; END'
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'DELETE FROM theirs'
CALL theirfunc()
SET ROLE pg_read_all_data
SET search_path = other
SET SESSION AUTHORIZATION someone
LISTEN x
NOTIFY x
SELECT lo_import('/etc/passwd')
INSERT INTO post VALUES (1, pg_read_file('/etc/passwd'))
INSERT INTO post VALUES (lo_unlink(4242), '')
INSERT INTO post VALUES (theirfunc(), '')
INSERT INTO post VALUES ("theirfunc"(), '')
INSERT INTO post VALUES (theirfunc /* */ (), '')
INSERT INTO post VALUES (nextval('theirs_id_seq'), '')
ALTER TABLE post ALTER id SET DEFAULT nextval('theirs_id_seq')
INSERT INTO post VALUES (1, dblink('x', 'y'))
WITH x AS (DELETE FROM theirs RETURNING 1) INSERT INTO post (id) SELECT 1
DELETE FROM post WHERE id IN (WITH x AS (DELETE FROM theirs RETURNING 1) SELECT 1)
DELETE FROM other.theirs
DELETE FROM other . theirs
DELETE FROM "other"."theirs"
DELETE FROM public.theirs
DELETE FROM THEIRS
DELETE FROM "theirs"
DELETE FROM ONLY theirs
DELETE FROM theirs *
DELETE FROM theirview
UPDATE theirview SET secret = 'gone'
INSERT INTO theirview (secret) VALUES ('more')
ALTER TABLE theirview ALTER id SET DEFAULT 4
DELETE FROM post USING theirs
UPDATE post SET note = secret FROM theirs
UPDATE post SET note = SUBSTRING(note FROM 1) FROM theirs
UPDATE post SET note = 'x' WHERE id IN (TABLE theirs)
INSERT INTO post (id, note) TABLE theirs
INSERT INTO post (id, note) (TABLE theirs)
INSERT INTO post SELECT * FROM theirs
INSERT INTO post VALUES (1, 'x') RETURNING theirfunc()
INSERT INTO post VALUES (regclass 'theirs', '')
INSERT INTO post VALUES ('theirs'::regclass, '')
INSERT INTO post VALUES (CAST('theirs' AS "regclass"), '')
PREPARE x AS DELETE FROM theirs
EXECUTE x
EXPLAIN ANALYZE DELETE FROM theirs
BEGIN
COMMIT
LOCK TABLE theirs
GRANT ALL ON theirs TO PUBLIC
DROP OWNED BY CURRENT_USER
COMMENT ON TABLE theirs IS 'x'
VACUUM theirs
LOAD '/tmp/x.so'
ALTER SYSTEM SET fsync = off
ALTER DATABASE shop SET search_path = x
CREATE ROLE x SUPERUSER
CREATE SCHEMA x
DROP DATABASE shop
DROP SCHEMA other CASCADE
DROP SEQUENCE theirs_id_seq
DROP TABLE post CASCADE
DROP TABLE post, theirs
DROP TABLE "Big"
DROP TABLE delete CASCADE
ALTER TABLE delete DROP COLUMN delete CASCADE
TRUNCATE post, theirs
TRUNCATE TABLE ONLY theirs
ALTER TABLE theirs_pkey ALTER COLUMN 1 SET STATISTICS 5
CREATE TABLE mine (id INT REFERENCES theirs (id))
CREATE TABLE mine (id INT, FOREIGN KEY (id) REFERENCES "theirs")
ALTER TABLE post ADD FOREIGN KEY (id) REFERENCES theirs (id) ON DELETE CASCADE
CREATE TABLE mine (id INT) INHERITS (theirs)
CREATE TABLE mine (LIKE theirs)
CREATE TABLE mine AS TABLE theirs
CREATE TABLE mine (id) AS TABLE theirs
CREATE TABLE mine (id INT DEFAULT theirfunc())
CREATE TABLE mine (id INT CHECK (theirfunc() > 0))
CREATE TABLE mine (id INT) TABLESPACE pg_default
CREATE RULE r AS ON DELETE TO post DO ALSO DELETE FROM theirs
CREATE TRIGGER t AFTER INSERT ON theirs EXECUTE FUNCTION theirfunc()
CREATE INDEX i ON theirs (id)
CREATE INDEX i ON post ((theirfunc()))
ALTER TABLE post ADD COLUMN x INT, INHERIT theirs
ALTER TABLE post ALTER COLUMN id TYPE TEXT USING (theirfunc())
ALTER TABLE post ADD COLUMN x INT CONSTRAINT theirfunc REFERENCES theirs
MERGE INTO theirs USING post ON true WHEN MATCHED THEN DELETE
DELETE FROM pg_class
DELETE FROM "pg_class"
""".strip().splitlines()
ODD_LETTERS = (
    "DELETE FROM solo\u00a0",
    "TRUNCATE solo\u00a0",
    "DROP TABLE IF EXISTS solo\u00a0",
    "DELETE FROM post -- \0 x",
    "DELETE FROM post /* \0 */",
    "DELETE FROM post\u2028",
    "INSERT INTO post1'x' VALUES (1)",
)
"""The server takes a blank that is none of ASCII for a letter."""
COUNTS = r"""
SELECT theirfunc()
SELECT "theirfunc"()
SELECT count(*) FROM ROWS FROM (theirfunc())
SELECT count(*) FROM pg_authid
SELECT count(*) FROM other.theirs
SELECT count(*) FROM information_schema.tables
SELECT count(*) FROM theirs FOR UPDATE
SELECT count(*) INTO x FROM theirs
SELECT max(pg_read_file('/etc/passwd'))
SELECT 1 WHERE EXISTS (SELECT nextval('theirs_id_seq'))
SELECT lo_unlink(4242)
SELECT regclass 'theirs'::int
SELECT dblink_exec('x')
SELECT 1; DELETE FROM theirs
SELECT $1
EXPLAIN ANALYZE SELECT 1
SELECT COALESCE (pg_terminate_backend(1), false)
SELECT count(*) FROM theirs WHERE id IN (TABLE theirs)
""".strip().splitlines()
