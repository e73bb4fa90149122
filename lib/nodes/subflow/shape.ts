/** Calls another workflow as a run of its own, and goes on with what that gives. It holds no machine meanwhile. */
import { defined } from '../../engine/defined.ts';
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { workflowNamePattern } from '../../engine/ids.ts';
import { inline } from '../../engine/json.ts';
import { after, days, seconds } from '../../engine/time.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

/** As long as a run may live. */
const maxSeconds = days(365) / 1_000;

const schema = z.object({
  workflowName: z.string().regex(workflowNamePattern, 'must be the name of a workflow'),
  /** absent: the latest when the call is made */
  version: z.int().min(1).optional(),
  /** absent: the node's own inputs */
  input: z.json().optional(),
  expiresInSeconds: z.int().min(1).max(maxSeconds).optional(),
  /** what becomes of the other run when this one ends, or waits no more */
  parentClosePolicy: z.enum(['cancel', 'abandon']).default('cancel'),
  /** what becomes of this run when the other one is cancelled */
  onChildCancelled: z.enum(['fail', 'cancel']).default('fail'),
});

export const subflow: NodeShape<typeof schema> = {
  type: 'subflow',
  // The nodes of the other run have attempts of their own.
  defaults: { ...graphDefaults, retry: { ...graphDefaults.retry, attempts: 1 } },
  announcesStart: false,
  schema,
  handles: () => [mainHandle, errorHandle],
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
