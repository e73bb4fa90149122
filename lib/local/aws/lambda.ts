/** Lambda's Invoke, which functions and schedules call. */
import { defined } from '../../base/defined.ts';
import { arns, lastPart } from '../aws-environment.ts';
import { invokeAsync } from '../lambda/async-invoke.ts';
import { lambdaLimits } from '../limits.ts';
import type { LambdaFunction } from '../lambda/function.ts';
import { jsonResponse, unknownOperation, type Service, type WireResponse } from './wire.ts';

export type FindFunction = (nameOrArn: string) => LambdaFunction | undefined;

const errorResponse = (status: number, code: string, message: string): WireResponse => {
  const response = jsonResponse(status, { Type: 'User', Message: message, message }, 'application/json');
  return { ...response, headers: { ...response.headers, 'x-amzn-errortype': code } };
};

const invokePath = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;

export function lambda(find: FindFunction, warn: (line: string) => void): Service {
  return {
    name: 'lambda',
    parse({ method, path }) {
      const name = invokePath.exec(path)?.[1];
      if (method !== 'POST' || name === undefined) return unknownOperation(`${method} ${path}`);
      const functionName = lastPart(decodeURIComponent(name));
      return {
        name: 'Invoke',
        input: { functionName },
        requiredPermissions: [{ action: 'lambda:InvokeFunction', resource: arns.lambda(functionName) }],
      };
    },
    async handle(request) {
      const name = lastPart(decodeURIComponent(invokePath.exec(request.path)?.[1] ?? ''));
      const target = find(name);
      if (target === undefined)
        return errorResponse(404, 'ResourceNotFoundException', `Function not found: ${arns.lambda(name)}`);
      const event = request.body.toString('utf8') || '{}';
      const cause = { traceHeaders: [request.headers['x-amzn-trace-id']] };
      if (request.headers['x-amz-invocation-type'] === 'Event') {
        if (request.body.length > lambdaLimits.asyncPayloadBytes)
          return errorResponse(413, 'RequestTooLargeException', 'Request must be smaller');
        invokeAsync(target, event, warn, cause);
        return { status: 202, headers: {}, body: Buffer.alloc(0) };
      }
      const outcome = await target.invoke(event, cause);
      if (outcome.kind === 'refused') {
        const statuses = {
          TooManyRequestsException: 429,
          RequestTooLargeException: 413,
          RecursiveInvocationException: 400,
          ServiceException: 500,
        } as const;
        return errorResponse(statuses[outcome.code], outcome.code, outcome.message);
      }
      const failed = outcome.kind === 'failed';
      const payload = outcome.kind === 'returned' ? outcome.payload : failed ? JSON.stringify(outcome.error) : '';
      return {
        status: 200,
        headers: defined({
          'content-type': 'application/json',
          'x-amz-executed-version': '$LATEST',
          'x-amz-function-error': failed ? 'Unhandled' : undefined,
        }),
        body: Buffer.from(payload),
      };
    },
    toErrorResponse: ({ status, code, message }) => errorResponse(code === 'AccessDeniedException' ? 403 : status, code, message),
  };
}
