package loadstone.spring.redis;

import java.time.Duration;
import java.util.function.Supplier;
import loadstone.spring.Settings;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;
import tools.jackson.databind.json.JsonMapper;

/** Responses as JSON strings in Redis, if the settings ask for it. */
@Component
public class JsonCache {

    private final StringRedisTemplate redis;
    private final JsonMapper json;
    private final Settings settings;
    private final Duration lifetime;

    JsonCache(
            StringRedisTemplate redis,
            JsonMapper json,
            Settings settings,
            @Value("${subject.cache-lifetime:1h}") Duration lifetime) {
        this.redis = redis;
        this.json = json;
        this.settings = settings;
        this.lifetime = lifetime;
    }

    /** The JSON of what {@code read} returns: from Redis where it is there, and put there where it is not. */
    public String json(String key, Supplier<?> read) {
        if (!settings.cache()) {
            return json.writeValueAsString(read.get());
        }
        var name = settings.keyPrefix() + key;
        var cached = redis.opsForValue().get(name);
        if (cached != null) {
            return cached;
        }
        var fresh = json.writeValueAsString(read.get());
        redis.opsForValue().set(name, fresh, lifetime);
        return fresh;
    }
}
