package loadstone.spring.post;

import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import loadstone.spring.Settings;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.context.annotation.Conditional;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.stereotype.Repository;
import org.springframework.util.Assert;

/** Posts as rows of the table {@code post}, of MariaDB or of PostgreSQL. */
@Repository
@Conditional(JdbcPosts.OnDatabase.class)
class JdbcPosts implements PostStore {

    private final JdbcClient jdbc;

    JdbcPosts(JdbcClient jdbc, Settings settings, DataSourceProperties database) {
        var driver = "jdbc:" + settings.store().name().toLowerCase(Locale.ROOT) + ":";
        // What is measured carries the store's name. The URL is not shown: it may hold a password.
        Assert.state(
                database.determineUrl().startsWith(driver),
                () -> "subject.store is " + settings.store() + ": spring.datasource.url must begin with " + driver);
        this.jdbc = jdbc;
    }

    @Override
    public Post save(Post post) {
        var key = new GeneratedKeyHolder();
        jdbc.sql("INSERT INTO post (title, content) VALUES (?, ?)")
                .params(post.title(), post.content())
                .update(key, "id");
        return post.withId(Objects.requireNonNull(key.getKey()).longValue());
    }

    @Override
    public Optional<Post> find(long id) {
        return jdbc.sql("SELECT id, title, content FROM post WHERE id = ?")
                .param(id)
                .query(Post.class)
                .optional();
    }

    static class OnDatabase extends AnyNestedCondition {

        OnDatabase() {
            super(ConfigurationPhase.REGISTER_BEAN);
        }

        @ConditionalOnProperty(name = "subject.store", havingValue = "mariadb", matchIfMissing = true)
        static class OnMariaDb {}

        @ConditionalOnProperty(name = "subject.store", havingValue = "postgresql")
        static class OnPostgresql {}
    }
}
