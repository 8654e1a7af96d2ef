import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';

import { Metrics } from './metrics.js';

/** Counts each request by its route when its answer is out, whatever became of it. */
@Injectable()
export class RequestCount implements NestInterceptor {
  constructor(private readonly metrics: Metrics) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<{ method: string; route?: { path: string } }>();
    const response = http.getResponse<ServerResponse>();
    response.once('finish', () =>
      this.metrics.requests.inc({
        method: request.method,
        route: request.route?.path ?? 'unknown',
        status: response.statusCode,
      }),
    );
    return next.handle();
  }
}
