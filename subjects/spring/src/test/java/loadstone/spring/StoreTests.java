package loadstone.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.webmvc.test.autoconfigure.AutoConfigureMockMvc;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.MediaType;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

/**
 * The application on real servers, which the environment names as {@code subject.yaml} does: MARIADB_URL,
 * POSTGRESQL_URL, SPRING_DATA_REDIS_PORT and so on. {@code tests/subjects/test_spring.py} starts them.
 */
class StoreTests {

    private static final String POST = "{\"title\": \"abcdefghij\", \"content\": \"klmnopqrst\"}";

    abstract static class Every {

        @Autowired
        MockMvcTester mvc;

        @Autowired
        StringRedisTemplate redis;

        @Autowired
        JdbcClient jdbc;

        long store() {
            var reply = mvc.post().uri("/api/post").contentType(MediaType.APPLICATION_JSON).content(POST).exchange();
            assertThat(reply).hasStatus(201);
            assertThat(reply).bodyJson().extractingPath("$.title").isEqualTo("abcdefghij");
            var id = new long[1];
            assertThat(reply).bodyJson().extractingPath("$.id").asNumber().satisfies(n -> id[0] = n.longValue());
            return id[0];
        }

        @Test
        void whatIsStoredIsRead() {
            var id = store();
            assertThat(mvc.get().uri("/api/post/" + id)).hasStatusOk().bodyJson()
                    .isLenientlyEqualTo("{\"id\": " + id + ", \"title\": \"abcdefghij\", \"content\": \"klmnopqrst\"}");
        }

        @Test
        void whatWasNeverStoredIsNotFound() {
            assertThat(mvc.get().uri("/api/post/9000000000000000000")).hasStatus(404);
        }

        @Test
        void aPostWithoutATitleIsRefused() {
            assertThat(mvc.post().uri("/api/post").contentType(MediaType.APPLICATION_JSON).content("{}"))
                    .hasStatus(400);
        }
    }

    abstract static class OnDatabase extends Every {

        @Test
        void rowsAndFeedComeFromTheTable() {
            var id = store();
            assertThat(mvc.get().uri("/api/feed?page=1")).hasStatusOk().bodyJson()
                    .extractingPath("$[0].id").asNumber().satisfies(n -> assertThat(n.longValue()).isEqualTo(id));
            assertThat(mvc.get().uri("/api/rows?count=1")).hasStatusOk().bodyJson().extractingPath("$").asArray()
                    .hasSize(1);
            assertThat(mvc.get().uri("/api/rows?count=0")).hasStatus(400);
        }

        @Test
        void anAddedRowIsARow() {
            var before = added();
            assertThat(mvc.post().uri("/api/rows").contentType(MediaType.APPLICATION_JSON).content(POST))
                    .hasStatus(201);
            assertThat(added()).isEqualTo(before + 1);
        }

        private long added() {
            return jdbc.sql("SELECT COUNT(*) FROM row_added").query(Long.class).single();
        }

        String server() {
            return jdbc.sql("SELECT VERSION()").query(String.class).single();
        }
    }

    @Nested
    @SpringBootTest(properties = {"subject.store=mariadb", "subject.cache=false"})
    @AutoConfigureMockMvc
    class OnMariaDb extends OnDatabase {

        @Test
        void thePostsAreInMariaDb() {
            assertThat(server()).contains("MariaDB");
        }
    }

    @Nested
    @SpringBootTest(properties = {"subject.store=postgresql", "subject.cache=false"})
    @AutoConfigureMockMvc
    class OnPostgresql extends OnDatabase {

        @Test
        void thePostsAreInPostgresql() {
            assertThat(server()).startsWith("PostgreSQL");
        }

        @Test
        void theUrlOfAnotherDatabaseIsRefused() {
            var application = new SpringApplicationBuilder(Application.class);
            assertThatThrownBy(() -> application.run(
                            "--subject.store=postgresql", "--spring.datasource.url=jdbc:mariadb://u:secret@h/d"))
                    .hasRootCauseMessage(
                            "subject.store is POSTGRESQL: spring.datasource.url must begin with jdbc:postgresql:");
        }
    }

    @Nested
    @SpringBootTest(properties = {"subject.store=redis-hash", "subject.cache=true"})
    @AutoConfigureMockMvc
    class AsHashes extends Every {

        @Test
        void aPostIsAHashAndAMemberOfTheSetOfIds() {
            var id = store();
            assertThat(redis.opsForHash().get("loadstone:subject:post:" + id, "title")).isEqualTo("abcdefghij");
            assertThat(redis.opsForSet().isMember("loadstone:subject:post", "" + id)).isTrue();
        }

        @Test
        void aPageIsReadOnceAndThenComesFromRedis() {
            redis.delete("loadstone:subject:feed:1");
            assertThat(mvc.get().uri("/api/feed?page=1")).hasStatusOk();
            redis.opsForValue().set("loadstone:subject:feed:1", "[\"from the cache\"]");
            assertThat(mvc.get().uri("/api/feed?page=1")).hasStatusOk().bodyText().isEqualTo("[\"from the cache\"]");
        }

        @Test
        void anAddedRowIsInTheList() {
            var before = redis.opsForList().size("loadstone:subject:rows-added");
            assertThat(mvc.post().uri("/api/rows").contentType(MediaType.APPLICATION_JSON).content(POST))
                    .hasStatus(201);
            assertThat(redis.opsForList().size("loadstone:subject:rows-added")).isEqualTo(before + 1);
        }
    }

    @Nested
    @SpringBootTest(
            properties = {
                "subject.store=redis-json",
                "spring.data.redis.client-type=jedis",
                "spring.data.redis.jedis.pool.max-active=4",
                "subject.jedis.test-on-borrow=true"
            })
    @AutoConfigureMockMvc
    class AsJsonByJedis extends Every {

        @Autowired
        org.springframework.data.redis.connection.RedisConnectionFactory connections;

        @Test
        void aPostIsOneString() {
            var id = store();
            assertThat(redis.opsForValue().get("loadstone:subject:post-json:" + id)).contains("\"klmnopqrst\"");
        }

        @Test
        void thePoolIsTheOneThatWasAskedFor() {
            assertThat(connections)
                    .isInstanceOfSatisfying(
                            org.springframework.data.redis.connection.jedis.JedisConnectionFactory.class, jedis -> {
                                assertThat(jedis.getPoolConfig().getMaxTotal()).isEqualTo(4);
                                assertThat(jedis.getPoolConfig().getTestOnBorrow()).isTrue();
                            });
        }
    }
}
