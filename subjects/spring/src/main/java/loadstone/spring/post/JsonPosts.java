package loadstone.spring.post;

import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import loadstone.spring.Settings;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Repository;
import tools.jackson.databind.json.JsonMapper;

/** Posts as JSON strings, a key a post. */
@Repository
@ConditionalOnProperty(name = "subject.store", havingValue = "redis-json")
class JsonPosts implements PostStore {

    private final StringRedisTemplate redis;
    private final JsonMapper json;
    private final String prefix;

    JsonPosts(StringRedisTemplate redis, JsonMapper json, Settings settings) {
        this.redis = redis;
        this.json = json;
        this.prefix = settings.keyPrefix() + "post-json:";
    }

    @Override
    public Post save(Post post) {
        var stored = post.withId(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE));
        redis.opsForValue().set(prefix + stored.id(), json.writeValueAsString(stored));
        return stored;
    }

    @Override
    public Optional<Post> find(long id) {
        return Optional.ofNullable(redis.opsForValue().get(prefix + id)).map(text -> json.readValue(text, Post.class));
    }
}
