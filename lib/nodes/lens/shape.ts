/**
 * Asks a model with a lens: a versioned prompt template with contracts. The lens document's snake_case names are accepted
 * beside ours. Which models there are is configuration, so a node is not judged by it when it is saved.
 */
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { lensNamePattern } from '../../engine/ids.ts';
import { seconds } from '../../engine/time.ts';
import type { NodeShape } from '../node-type.ts';
import type { NodeDefaults } from '../settings.ts';
import { jsonValue } from '../template-text.ts';

/** The lens document's: one attempt unless the author says more, and never again for a broken contract unless asked for. */
const lensDefaults = {
  retry: {
    attempts: 1,
    backoffMs: seconds(0.5),
    maxBackoffMs: seconds(8),
    retryOn: ['timeout', 'provider_error', 'rate_limit'],
    jitter: 'half',
  },
  timeoutMs: seconds(60),
  outputVariable: 'lensOutput',
} as const satisfies NodeDefaults;

const values = z.record(z.string().min(1).max(128), jsonValue);

const schema = z.object({
  lens: z.string().regex(lensNamePattern, 'must be the name of a lens'),
  /** absent: the latest one when the node runs, and the answer says which it was */
  version: z.int().min(1).optional(),
  /** absent: the lens's own, else the one called default */
  model: z.string().min(1).max(64).optional(),
  /** for the model's provider, over the lens's own */
  params: values.default({}),
  /** values by label, over everything that edges bring; a text `[[nodeId.path]]` is the output of that node */
  paramOverrides: values.optional(),
  param_overrides: values.optional(),
  moderation: z.enum(['off', 'input', 'output', 'both']).default('off'),
  attachments: z
    .array(
      z.object({
        kind: z.enum(['image', 'audio', 'document']),
        url: z.string().min(1).max(16_384),
        mimeType: z.string().max(256).optional(),
      }),
    )
    .max(20)
    .default([]),
});
export type LensConfig = z.output<typeof schema>;

export const lens: NodeShape<typeof schema> = {
  type: 'lens',
  defaults: lensDefaults,
  announcesStart: true,
  schema,
  handles: () => [mainHandle, errorHandle],
  check: ({ paramOverrides, param_overrides: older }) =>
    paramOverrides !== undefined && older !== undefined
      ? [{ code: 'config_invalid', path: ['param_overrides'], message: 'says the same as paramOverrides: give one of them' }]
      : [],
};
