package loadstone.spring.post;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Stores a post, and reads one. */
@RestController
@RequestMapping("/api/post")
class PostController {

    private final PostStore posts;

    PostController(PostStore posts) {
        this.posts = posts;
    }

    record NewPost(String title, String content) {}

    @PostMapping
    @ResponseStatus(HttpStatus.CREATED)
    Post store(@RequestBody NewPost post) {
        if (post.title() == null || post.content() == null) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "a post has a title and a content");
        }
        return posts.save(new Post(null, post.title(), post.content()));
    }

    @GetMapping("/{id}")
    Post read(@PathVariable long id) {
        return posts.find(id)
                .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND, "no post has the id " + id));
    }
}
