/**
 * Requests that the World of the Workflow DevKit refuses, by the code of the error. `event_limit` takes 26,000 events, so a run in memory
 * reaches it (`test/functions/api-errors.test.ts`).
 */
import { ulid } from 'ulid';
import * as z from 'zod';
import type { ErrorCode } from '../../lib/api/errors.ts';
import type { InProcessCloud } from './in-process-cloud.ts';

type Answer = ReturnType<InProcessCloud['call']>;

const serialized = { $bytes: 'ZGV2bFsxXQ==' };
const registeredShape = z.object({ deploymentId: z.string() });

/** @param cloud called when a request is sent, not before */
export function refusedByTheWorld(cloud: () => InProcessCloud): Partial<Record<ErrorCode, () => Answer>> {
  const post = (path: string, body: object): Answer => cloud().call('POST', `/v1/world/${path}`, body);
  const newRunId = (): string => `wrun_${ulid()}`;
  const create = (runId: string, data: object): Answer => post('events/create', { runId, data });
  const creation = (deploymentId: string, specVersion = 5) => ({
    eventType: 'run_created',
    specVersion,
    eventData: { deploymentId, workflowName: 'workflow//./a//b', input: serialized },
  });
  const started = async (specVersion = 5): Promise<string> => {
    const { body } = await post('apps', { baseUrl: 'https://app.example.com' });
    const runId = newRunId();
    await create(runId, creation(registeredShape.parse(body).deploymentId, specVersion));
    return runId;
  };
  const record = async (data: object, specVersion = 5): Answer => create(await started(specVersion), { specVersion, ...data });
  const attributes = (changes: readonly object[]) => ({
    eventType: 'attr_set',
    specVersion: 5,
    eventData: { changes, writer: { type: 'workflow' } },
  });

  return {
    entity_conflict: async () => record(creation('d')),
    run_expired: async () => {
      const runId = await started();
      await create(runId, { eventType: 'run_cancelled' });
      return create(runId, { eventType: 'run_started' });
    },
    too_early: async () => {
      const runId = await started();
      const step = { correlationId: 'step_1' };
      await create(runId, { eventType: 'step_created', ...step, eventData: { stepName: 's', input: serialized } });
      const retryAfter = { $date: '2100-01-01T00:00:00.000Z' };
      await create(runId, { eventType: 'step_retrying', ...step, eventData: { error: serialized, retryAfter } });
      return create(runId, { eventType: 'step_started', ...step });
    },
    run_not_found: () => cloud().call('GET', `/v1/world/runs/${newRunId()}`),
    hook_not_found: () => cloud().call('GET', '/v1/world/hooks/by-token/unknown'),
    step_not_found: () => record({ eventType: 'step_started', correlationId: 'step_9' }),
    wait_not_found: () => record({ eventType: 'wait_completed', correlationId: 'wait_9' }),
    upload_not_found: () =>
      record({
        eventType: 'step_created',
        correlationId: 'step_1',
        eventData: { stepName: 's', input: { $stored: { sha256: 'ab'.repeat(32), bytes: 5 } } },
      }),
    event_not_found: async () => post('events/get', { runId: await started(), eventId: 'evnt_9' }),
    run_not_supported: () => create(newRunId(), creation('d', 8)),
    event_not_supported: () => record({ eventType: 'run_started' }, 1),
    attributes_invalid: () => record(attributes([{ key: '$reserved', value: 'x' }])),
    world_deployment_not_found: () => create(newRunId(), creation('unknown')),
  };
}
