import { Body, Controller, Get, Header, Param, ParseIntPipe, Post } from '@nestjs/common';

import type { Bid } from './bid.entity.js';
import { newBid } from './bid.schema.js';
import type { NewBid } from './bid.schema.js';
import { RaffleService } from './raffle.service.js';

@Controller('raffles')
export class RaffleController {
  constructor(private readonly raffles: RaffleService) {}

  @Get()
  @Header('Content-Type', 'application/json; charset=utf-8')
  list(): Promise<string> {
    return this.raffles.list();
  }

  @Post(':id/bids')
  bid(@Param('id', ParseIntPipe) id: number, @Body({ schema: newBid }) bid: NewBid): Promise<Bid> {
    return this.raffles.bid(id, bid);
  }
}
