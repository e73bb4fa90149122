/** Waits for something outside: a person's approval, a payment, a parcel. It holds no machine meanwhile. */
import * as z from 'zod';
import { type Outcome, errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { placed } from '../../engine/graph/work.ts';
import type { JsonValue } from '../../engine/json.ts';
import { longestSignalWord } from '../../engine/signal.ts';
import { after, days, seconds } from '../../engine/time.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';
import { shownValue } from '../shown-value.ts';

/** As long as a run may live. */
const longestSeconds = days(365) / 1_000;
const expiredHandle = 'expired';

const schema = z.object({
  name: z.string().min(1).max(65_536),
  /** which of all the signals of that name; absent: those sent to this run by its id */
  correlation: z.string().min(1).max(65_536).optional(),
  expiresInSeconds: z.int().min(1).max(longestSeconds).optional(),
  onExpiry: z.enum(['fail', 'continue']).default('fail'),
});
type Config = z.output<typeof schema>;

export const signal: NodeShape<typeof schema> = {
  type: 'signal',
  defaults: graphDefaults,
  announcesStart: false,
  schema,
  handles: ({ onExpiry }) => [mainHandle, ...(onExpiry === 'continue' ? [expiredHandle] : []), errorHandle],
  check: (config) =>
    config.onExpiry === 'continue' && config.expiresInSeconds === undefined
      ? [{ code: 'config_invalid', path: ['expiresInSeconds'], message: 'is needed for this onExpiry' }]
      : [],
  decider: (config) => (input, now) => {
    const [name, correlation] = (['name', 'correlation'] as const).map((key) => {
      const template = config[key];
      return template === undefined ? undefined : placed(key, () => wordOf(resolveTemplate(template, input.context)));
    });
    if (typeof name !== 'string') return invalid('name', name?.value);
    if (typeof correlation === 'object') return invalid('correlation', correlation.value);
    return {
      kind: 'awaiting',
      name,
      ...(correlation === undefined ? {} : { correlation }),
      ...expiryOf(config, now),
    };
  },
};

const expiryOf = ({ expiresInSeconds, onExpiry }: Config, now: Parameters<typeof after>[0]) => ({
  ...(expiresInSeconds === undefined ? {} : { expiresAt: after(now, seconds(expiresInSeconds)) }),
  ...(onExpiry === 'continue' ? { expiryHandle: expiredHandle } : {}),
});

/** A text that a sender can name, or what it is instead. */
const wordOf = (value: JsonValue): string | { readonly value: JsonValue } => {
  const word = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  return typeof word === 'string' && word.length >= 1 && word.length <= longestSignalWord ? word : { value };
};

const invalid = (what: string, value: JsonValue = null): Outcome => ({
  kind: 'failed',
  failure: {
    cause: 'invalid',
    code: 'signal_invalid',
    message: `the ${what} of a signal is a text of 1 to ${longestSignalWord} characters, and not ${shownValue(value)}`,
  },
});
