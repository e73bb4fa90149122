/** Headers of every answer: it is data for programs, never a page, and nobody but the caller may keep it. */
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { HttpResponse } from './http-call.ts';

const headers = {
  'strict-transport-security': 'max-age=63072000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
} as const;

/** A route's own header wins, such as a `cache-control` of something public. */
export const securityHeaders = (): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => {
  const add = (request: { response: HttpResponse | null | undefined }): void => {
    const { response } = request;
    if (response === undefined || response === null) return;
    request.response = { ...response, headers: { ...headers, ...response.headers } };
  };
  return { after: add, onError: add };
};
