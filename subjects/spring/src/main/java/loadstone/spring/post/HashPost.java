package loadstone.spring.post;

import org.springframework.data.annotation.Id;
import org.springframework.data.redis.core.RedisHash;

/** A post as a hash. Spring Data draws its id at random when it is null. */
@RedisHash("loadstone:subject:post")
record HashPost(@Id Long id, String title, String content) {

    Post toPost() {
        return new Post(id, title, content);
    }
}
