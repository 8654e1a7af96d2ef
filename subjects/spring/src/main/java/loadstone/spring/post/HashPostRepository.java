package loadstone.spring.post;

import org.springframework.data.repository.CrudRepository;

/** A hash a post, and beside them a set that holds every id. */
interface HashPostRepository extends CrudRepository<HashPost, Long> {}
