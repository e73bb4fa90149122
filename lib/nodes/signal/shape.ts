/** Signal node: waits for an external signal, such as an approval or a payment. A wait uses no compute. */
import * as z from 'zod';
import { defined } from '../../base/defined.ts';
import { type Outcome, errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { shownInput } from '../../engine/graph/shown-values.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { maxSignalTextLength } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import { maxDeadline } from '../../engine/log/head.ts';
import { after, seconds } from '../../engine/time.ts';
import { shownValue } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

/** the longest deadline of a run */
const maxSeconds = maxDeadline / 1_000;
const expiredHandle = 'expired';

const schema = z.object({
  name: z.string().min(1).max(65_536),
  /** matches signals of the same name to this wait; absent: the run id */
  correlation: z.string().min(1).max(65_536).optional(),
  expiresInSeconds: z.int().min(1).max(maxSeconds).optional(),
  onExpiry: z.enum(['fail', 'continue']).default('fail'),
});
type Config = z.output<typeof schema>;

export const signal: NodeShape<typeof schema> = {
  type: 'signal',
  defaults: graphDefaults,
  announcesStart: false,
  schema,
  handles: ({ onExpiry }) => [mainHandle, ...(onExpiry === 'continue' ? [expiredHandle] : []), errorHandle],
  waitMs: ({ expiresInSeconds }) => (expiresInSeconds === undefined ? undefined : expiresInSeconds * 1_000),
  check: (config) =>
    config.onExpiry === 'continue' && config.expiresInSeconds === undefined
      ? [{ code: 'config_invalid', path: ['expiresInSeconds'], message: 'is required for onExpiry "continue"' }]
      : [],
  decider: (config) => (input, now) => {
    const [name, correlation] = (['name', 'correlation'] as const).map((key) => {
      const template = config[key];
      return template === undefined
        ? undefined
        : withinConfigPath(key, () => signalText(resolveTemplate(template, input.context)));
    });
    if (typeof name !== 'string') return invalid('name', name, { name, correlation });
    if (typeof correlation === 'object') return invalid('correlation', correlation, { name, correlation });
    return defined({
      kind: 'awaiting',
      name,
      correlation,
      ...expiryOf(config, now),
    });
  },
};

const expiryOf = ({ expiresInSeconds, onExpiry }: Config, now: Parameters<typeof after>[0]) =>
  defined({
    expiresAt: expiresInSeconds === undefined ? undefined : after(now, seconds(expiresInSeconds)),
    expiryHandle: onExpiry === 'continue' ? expiredHandle : undefined,
  });

type SignalText = string | { readonly value: JsonValue };

/** The text of a name or correlation, or the invalid value. */
const signalText = (value: JsonValue): SignalText => {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  return typeof text === 'string' && text.length >= 1 && text.length <= maxSignalTextLength ? text : { value };
};

const valueOf = (text: SignalText | undefined): JsonValue => (typeof text === 'object' ? text.value : (text ?? null));

const invalid = (
  what: string,
  text: SignalText | undefined,
  { name, correlation }: Readonly<Record<'name' | 'correlation', SignalText | undefined>>,
): Outcome => ({
  kind: 'failed',
  failure: {
    cause: 'invalid',
    code: 'signal_invalid',
    message: `the ${what} of a signal must be a string of 1 to ${maxSignalTextLength} characters, and is ${shownValue(valueOf(text))}`,
    details: {
      input: defined({
        signal: shownInput(valueOf(name)),
        correlation: correlation === undefined ? undefined : shownInput(valueOf(correlation)),
      }),
    },
  },
});
