/** Delay node: waits for a fixed duration, a duration from the context, or until a time. A wait uses no compute. */
import * as z from 'zod';
import { type Outcome, mainHandle } from '../../engine/graph/outcome.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { shownInput } from '../../engine/graph/shown-values.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { type JsonValue, inline } from '../../engine/json.ts';
import { maxDeadline } from '../../engine/log/head.ts';
import { type Instant, after, durationMs } from '../../engine/time.ts';
import { type ConfigFinding, shownValue, lookUpText } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

/** the parts of a fixed delay, which is 365 days at most together */
export const fixedDelayLimits = { minutes: 525_600, seconds: 59, ms: 999 } as const;

const schema = z.object({
  delayType: z.enum(['fixed', 'dynamic', 'until']).default('fixed'),
  delayMinutes: z.int().min(0).max(fixedDelayLimits.minutes).default(0),
  delaySeconds: z.int().min(0).max(fixedDelayLimits.seconds).default(0),
  delayMs: z.int().min(0).max(fixedDelayLimits.ms).default(0),
  delayVariable: lookUpText().optional(),
  untilTime: z
    .union(
      [z.string().min(1).max(65_536), z.number()],
      'must be a time, such as 2027-01-31T09:00:00Z, or milliseconds since 1970',
    )
    .optional(),
});
type Config = z.output<typeof schema>;

export const delay: NodeShape<typeof schema> = {
  type: 'delay',
  defaults: graphDefaults,
  announcesStart: false,
  schema,
  handles: () => [mainHandle],
  waitMs: (config) => (config.delayType === 'fixed' ? fixedDelayOf(config) : undefined),
  check: (config) => {
    if (config.delayType === 'fixed' && fixedDelayOf(config) > maxDeadline)
      return [
        { code: 'config_invalid', path: ['delayMinutes'], message: 'must be at most 365 days, with delaySeconds and delayMs' },
      ];
    if (config.delayType === 'dynamic' && config.delayVariable === undefined) return [missing('delayVariable')];
    if (config.delayType !== 'until') return [];
    if (config.untilTime === undefined) return [missing('untilTime')];
    const isLookedUp = typeof config.untilTime === 'string' && config.untilTime.includes('{{');
    if (isLookedUp || readMoment(config.untilTime) !== undefined) return [];
    return [{ code: 'config_invalid', path: ['untilTime'], message: invalidMomentMessage(config.untilTime) }];
  },
  decider: (config) => (input, now) => {
    const value = waitValueOf(config, input);
    const wait = waitOf(config, value, now);
    if (typeof wait === 'string') return invalid('delay_invalid', wait, value);
    if (wait > maxDeadline) return invalid('delay_too_long', `a delay is at most 365 days; this one is ${wait} ms`, value);
    const output = inline({ delayedMs: wait, delayType: config.delayType });
    if (wait === 0) return { kind: 'finished', output, handle: mainHandle };
    return { kind: 'sleeping', wakeAt: after(now, durationMs(wait)), output };
  },
};

const fixedDelayOf = ({ delayMinutes, delaySeconds, delayMs }: Config): number =>
  delayMinutes * 60_000 + delaySeconds * 1_000 + delayMs;

/** The duration or the time after templates; null for a fixed delay. */
function waitValueOf({ delayType, delayVariable, untilTime }: Config, { context }: NodeInput): JsonValue {
  if (delayType === 'fixed') return null;
  const template = delayType === 'until' ? untilTime : delayVariable;
  return withinConfigPath(delayType === 'until' ? 'untilTime' : 'delayVariable', () =>
    resolveTemplate(template ?? null, context),
  );
}

/** The wait in milliseconds, 0 for a time in the past, or an error message. */
function waitOf(config: Config, value: JsonValue, now: Instant): number | string {
  switch (config.delayType) {
    case 'fixed':
      return fixedDelayOf(config);
    case 'dynamic':
      return readMilliseconds(value) ?? `a duration must be a number of milliseconds of at least 0, and is ${shownValue(value)}`;
    case 'until': {
      const moment = readMoment(value);
      return moment === undefined ? invalidMomentMessage(value) : Math.max(0, moment - now);
    }
  }
}

const invalidMomentMessage = (value: JsonValue): string =>
  `a time must have a zone, such as 2027-01-31T09:00:00Z, or be milliseconds since 1970, and is ${shownValue(value)}`;

const invalid = (code: string, message: string, value: JsonValue): Outcome => ({
  kind: 'failed',
  failure: { cause: 'invalid', code, message, details: { input: { delay: shownInput(value) } } },
});

const missing = (key: string): ConfigFinding => ({
  code: 'config_invalid',
  path: [key],
  message: 'is required for this delayType',
});

/** RFC 3339, or a date, which means midnight UTC. A time without a zone is rejected, because it depends on the machine. */
const date = /^\d{4}-\d{2}-\d{2}$/;
const dateTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})$/;
const wholeNumber = /^\s*\d{1,15}(\.\d+)?\s*$/;

/** Milliseconds from a number or a numeric string; undefined for other values and negative numbers. */
const readMilliseconds = (value: JsonValue): number | undefined => {
  const ms = typeof value === 'string' && wholeNumber.test(value) ? Number(value) : value;
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? Math.round(ms) : undefined;
};

/** Milliseconds since 1970, from a number or a written time; undefined for other values. */
const readMoment = (value: JsonValue): number | undefined => {
  if (typeof value !== 'string' || wholeNumber.test(value)) return readMilliseconds(value);
  const text = value.trim();
  if (!date.test(text) && !dateTime.test(text)) return undefined;
  const ms = Date.parse(text.replace(' ', 'T'));
  return Number.isNaN(ms) ? undefined : ms;
};
