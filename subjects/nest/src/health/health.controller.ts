import { Controller, Get, ServiceUnavailableException } from '@nestjs/common';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';

@Controller('health')
export class HealthController {
  constructor(
    private readonly redis: Redis,
    private readonly database: DataSource,
  ) {}

  @Get('live')
  live(): { status: string } {
    return { status: 'up' };
  }

  @Get('ready')
  async ready(): Promise<{ status: string }> {
    try {
      await Promise.all([this.redis.ping(), this.database.query('SELECT 1')]);
    } catch (error) {
      throw new ServiceUnavailableException(error instanceof Error ? error.message : String(error));
    }
    return { status: 'up' };
  }
}
