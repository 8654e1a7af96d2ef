import { Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';

import { RaffleCache } from '../cache/raffle.cache.js';
import { Bid } from './bid.entity.js';
import type { NewBid } from './bid.schema.js';
import { Raffle } from './raffle.entity.js';

const NEWEST = 10;

@Injectable()
export class RaffleService {
  constructor(
    @InjectRepository(Raffle) private readonly raffles: Repository<Raffle>,
    @InjectRepository(Bid) private readonly bids: Repository<Bid>,
    private readonly cache: RaffleCache,
  ) {}

  /** The newest raffles with product and bids, as JSON. */
  list(): Promise<string> {
    return this.cache.list(() => this.newest());
  }

  /** Writes the bid; the cached list goes on without it until it expires. */
  async bid(raffleId: number, bid: NewBid): Promise<Bid> {
    if (!(await this.raffles.existsBy({ id: raffleId }))) throw new NotFoundException(`raffle ${raffleId}`);
    return this.bids.save(this.bids.create({ raffleId, ...bid }));
  }

  private newest(): Promise<Raffle[]> {
    return this.raffles.find({ relations: { product: true, bids: true }, order: { id: 'DESC' }, take: NEWEST });
  }
}
