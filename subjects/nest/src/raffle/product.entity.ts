import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity()
export class Product {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('varchar', { length: 100 })
  name!: string;

  @Column('varchar', { length: 1000 })
  description!: string;

  @Column('int')
  price!: number;
}
