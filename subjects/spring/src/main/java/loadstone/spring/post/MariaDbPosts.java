package loadstone.spring.post;

import java.util.Objects;
import java.util.Optional;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.stereotype.Repository;

/** Posts as rows of the table {@code post}. */
@Repository
@ConditionalOnProperty(name = "subject.store", havingValue = "mariadb", matchIfMissing = true)
class MariaDbPosts implements PostStore {

    private final JdbcClient jdbc;

    MariaDbPosts(JdbcClient jdbc) {
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
}
