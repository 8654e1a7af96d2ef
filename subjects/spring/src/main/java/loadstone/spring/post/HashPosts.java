package loadstone.spring.post;

import java.util.Optional;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Posts as hashes, by a Spring Data repository. */
@Component
@ConditionalOnProperty(name = "subject.store", havingValue = "redis-hash")
class HashPosts implements PostStore {

    private final HashPostRepository posts;

    HashPosts(HashPostRepository posts) {
        this.posts = posts;
    }

    @Override
    public Post save(Post post) {
        return posts.save(new HashPost(null, post.title(), post.content())).toPost();
    }

    @Override
    public Optional<Post> find(long id) {
        return posts.findById(id).map(HashPost::toPost);
    }
}
