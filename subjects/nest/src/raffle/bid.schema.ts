import { z } from 'zod';

/** A bid as it is posted. */
export const newBid = z.strictObject({
  bidder: z.string().min(1).max(50),
  amount: z.int().min(1).max(2_000_000_000),
});

export type NewBid = z.infer<typeof newBid>;
