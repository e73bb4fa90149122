/** Subflow node: starts a child run of another workflow, and continues with its output. A wait uses no compute. */
import { defined } from '../../base/defined.ts';
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { workflowNamePattern } from '../../engine/ids.ts';
import { inline } from '../../engine/json.ts';
import { maxDeadline } from '../../engine/log/head.ts';
import { after, seconds } from '../../engine/time.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

/** the longest deadline of a run */
const maxSeconds = maxDeadline / 1_000;

const schema = z.object({
  workflowName: z.string().regex(workflowNamePattern, 'must be the name of a workflow'),
  /** absent: the latest version when the child run starts */
  version: z.int().min(1).optional(),
  /** absent: the node's inputs */
  input: z.json().optional(),
  expiresInSeconds: z.int().min(1).max(maxSeconds).optional(),
  /** what happens to the child run when this run ends or stops waiting */
  parentClosePolicy: z.enum(['cancel', 'abandon']).default('cancel'),
  /** what happens to this run when the child run is cancelled */
  onChildCancelled: z.enum(['fail', 'cancel']).default('fail'),
});

export const subflow: NodeShape<typeof schema> = {
  type: 'subflow',
  // The nodes of the child run have their own retries.
  defaults: { ...graphDefaults, retry: { ...graphDefaults.retry, attempts: 1 } },
  announcesStart: false,
  schema,
  handles: () => [mainHandle, errorHandle],
  waitMs: ({ expiresInSeconds }) => (expiresInSeconds === undefined ? undefined : expiresInSeconds * 1_000),
  decider: (config) => (input, now) =>
    defined({
      kind: 'calling',
      workflowName: config.workflowName,
      version: config.version,
      input: inline(
        config.input === undefined
          ? input.inputs
          : withinConfigPath('input', () => resolveTemplate(config.input ?? null, input.context)),
      ),
      expiresAt: config.expiresInSeconds === undefined ? undefined : after(now, seconds(config.expiresInSeconds)),
      parentClosePolicy: config.parentClosePolicy,
      onChildCancelled: config.onChildCancelled,
    }),
};
