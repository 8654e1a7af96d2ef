import { Column, Entity, JoinColumn, ManyToOne, OneToMany, PrimaryGeneratedColumn } from 'typeorm';
import type { Relation } from 'typeorm';

import { Bid } from './bid.entity.js';
import { Product } from './product.entity.js';

@Entity()
export class Raffle {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('varchar', { length: 100 })
  title!: string;

  @ManyToOne(() => Product)
  @JoinColumn({ name: 'product_id' })
  product!: Relation<Product>;

  @OneToMany(() => Bid, (bid) => bid.raffle)
  bids!: Relation<Bid[]>;
}
