package loadstone.spring.post;

import java.util.Optional;

/** Where posts are kept. */
public interface PostStore {

    /** Stores a post that has no id, and returns it with the one it was given. */
    Post save(Post post);

    Optional<Post> find(long id);
}
