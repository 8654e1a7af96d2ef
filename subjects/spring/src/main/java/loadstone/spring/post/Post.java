package loadstone.spring.post;

/** One post; without an id as long as it is not stored. */
public record Post(Long id, String title, String content) {

    Post withId(long id) {
        return new Post(id, title, content);
    }
}
