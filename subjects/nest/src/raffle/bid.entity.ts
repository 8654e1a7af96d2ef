import { Column, Entity, JoinColumn, ManyToOne, PrimaryGeneratedColumn } from 'typeorm';
import type { Relation } from 'typeorm';

import { Raffle } from './raffle.entity.js';

@Entity()
export class Bid {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('int', { name: 'raffle_id' })
  raffleId!: number;

  @ManyToOne(() => Raffle, (raffle) => raffle.bids)
  @JoinColumn({ name: 'raffle_id' })
  raffle!: Relation<Raffle>;

  @Column('varchar', { length: 50 })
  bidder!: string;

  @Column('int')
  amount!: number;
}
