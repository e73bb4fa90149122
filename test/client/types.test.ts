/** The client's types equal the types of the routes. `npm run types` evaluates these tests. */
import { expect, expectTypeOf, test } from 'vitest';
import type * as z from 'zod';
import { type OperationId, routes } from '../../lib/api/routes.ts';
import type * as runs from '../../lib/api/schemas/runs.ts';
import type * as workflows from '../../lib/api/schemas/workflows.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import {
  type ComputeClientError,
  type EndedRun,
  RateLimitedComputeClientError,
  type Run,
  type StepwellClient,
} from '../../lib/client/index.ts';
import type { Tolerant } from '../../lib/client/tolerant-schema.ts';
import { routeOf } from '../../lib/client/route-types.ts';

type Client = StepwellClient;
type Given<Name extends keyof Client> = Client[Name] extends (...given: infer All) => unknown ? All : never;

test('request bodies have the input types of the schemas', () => {
  expectTypeOf<Given<'trigger'>[0]>().toEqualTypeOf<z.input<typeof runs.startRunBody>>();
  expectTypeOf<Given<'createWorkflow'>[0]>().toEqualTypeOf<z.input<typeof workflows.createWorkflowBody>>();
  expectTypeOf<Given<'publishVersion'>[1]>().toEqualTypeOf<z.input<typeof workflows.publishVersionBody>>();
  expectTypeOf<{ workflowName: string; input: { n: number } }>().toExtend<Given<'trigger'>[0]>();
  expectTypeOf<{ workflow: string }>().not.toExtend<Given<'trigger'>[0]>();
  expectTypeOf<{ workflowName: string; input: Date }>().not.toExtend<Given<'trigger'>[0]>();
});

test('responses have the output types of the schemas, with open enums', () => {
  expectTypeOf<Client['trigger']>().returns.resolves.toEqualTypeOf<Tolerant<z.output<typeof runs.acceptedStartResponse>>>();
  expectTypeOf<Client['getRun']>().returns.resolves.toEqualTypeOf<Tolerant<z.output<typeof runs.runResponse>>>();
  expectTypeOf<Client['listRuns']>().returns.resolves.toEqualTypeOf<Tolerant<z.output<typeof runs.runList>>>();
  expectTypeOf<Client['validateWorkflow']>().returns.resolves.toEqualTypeOf<
    Tolerant<z.output<typeof workflows.validatedResponse>>
  >();
  expectTypeOf<EndedRun['status']>().toEqualTypeOf<'completed' | 'failed' | 'cancelled'>();
  expectTypeOf<Run['status']>().not.toEqualTypeOf<z.output<typeof runs.runResponse>['status']>();
  expectTypeOf<'a_status_of_tomorrow'>().toExtend<Run['status']>();
  expectTypeOf<5>().not.toExtend<Run['status']>();
  expectTypeOf<Run['lastEventId']>().toEqualTypeOf<number>();
  expectTypeOf<Run['input']>().toEqualTypeOf<JsonValue | undefined>();
  expectTypeOf<Client['result']>().returns.resolves.toEqualTypeOf<EndedRun>();
});

test('a query has numbers where the service parses numbers, and no unknown fields', () => {
  type Query = NonNullable<Given<'listRuns'>[0]>;
  expectTypeOf<Query['limit']>().toEqualTypeOf<number | undefined>();
  expectTypeOf<{ limit: string }>().not.toExtend<Query>();
  expectTypeOf<{ status: 'ended' }>().not.toExtend<Query>();
  expectTypeOf<{ createdAfter: string; attention: 'waiting' }>().toExtend<Query>();
});

test('an error is identified by its tag', () => {
  const error: ComputeClientError = new RateLimitedComputeClientError({
    status: 429,
    message: 'later',
    correlationId: 'id',
    retryAfterMs: 5,
  });
  expectTypeOf<RateLimitedComputeClientError['_tag']>().toEqualTypeOf<'RateLimitedComputeClientError'>();
  if (error instanceof RateLimitedComputeClientError) expectTypeOf(error.retryAfterMs).toEqualTypeOf<number | undefined>();
  expect(error._tag).toBe('RateLimitedComputeClientError');
});

test('a route is found by its operation id', () => {
  for (const { operationId } of routes) expect(routeOf<OperationId>(operationId).operationId).toBe(operationId);
});
