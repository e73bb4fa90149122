/**
 * The settings that every node type has. camelCase is canonical; snake_case names of the lens document are accepted. Each setting is
 * parsed separately: an invalid one is a finding, and its default applies.
 */
import { defined } from '../base/defined.ts';
import * as z from 'zod';
import { mergeStrategies } from '../engine/graph/definition.ts';
import { type NodePolicy, joinModes } from '../engine/graph/plan.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../engine/json.ts';
import { type RetryPolicy, retryableCauses } from '../engine/retry.ts';
import { type DurationMs, durationMs, minutes, seconds } from '../engine/time.ts';
import type { ConfigFinding } from './config-values.ts';

/** Defaults that differ between node types. */
export interface NodeDefaults {
  readonly retry: RetryPolicy;
  readonly timeoutMs: DurationMs;
  readonly outputVariable?: string;
  /** its runner only computes: it sends no request and reads nothing that another program can change */
  readonly isIdempotent?: true;
}

/** Defaults of the DAG document: three attempts, with waits of 1 s and 2 s. */
export const graphDefaults = {
  retry: {
    attempts: 3,
    backoffMs: seconds(1),
    maxBackoffMs: seconds(8),
    retryOn: ['error', 'timeout', 'provider_error', 'rate_limit', 'lost'],
    jitter: 'none',
  },
  timeoutMs: seconds(30),
} as const satisfies NodeDefaults;

/** A Lambda function runs at most 15 minutes; one minute is reserved for the work around an attempt. */
export const maxTimeoutMs = minutes(14);
export const maxAttempts = 100;
const milliseconds = (maxMs: DurationMs) => z.int().min(0).max(maxMs).transform(durationMs);
export const maxRetryBackoff = minutes(24 * 60);

const variable = z
  .string()
  .max(128)
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'must be a name: letters, digits and _, not starting with a digit');
const timeoutMs = z.int().min(1).max(maxTimeoutMs).transform(durationMs);
const timeoutSeconds = z
  .number()
  .min(1)
  .max(maxTimeoutMs / 1_000)
  .transform((count) => seconds(count));
/** `retry_then_…` are older names of the same two modes. Retries come first in both. */
const errorHandling = z
  .enum(['continue', 'fail_workflow', 'retry_then_continue', 'retry_then_fail'])
  .transform((mode) => (mode === 'fail_workflow' || mode === 'retry_then_fail' ? 'fail_workflow' : 'continue'));

/** One setting: its names and its schema. Schemas are created once, because each compilation of a graph parses configs. */
interface Setting<Value> {
  readonly names: readonly [string, ...string[]];
  readonly schema: z.ZodType<Value>;
}
const setting = <Value>(schema: z.ZodType<Value>, ...names: Setting<Value>['names']): Setting<Value> => ({ names, schema });

const settings = {
  title: setting(z.string().max(256), 'title'),
  description: setting(z.string().max(4_096), 'description'),
  outputVariable: setting(variable, 'outputVariable', 'output_variable'),
  timeoutMs: setting(timeoutMs, 'timeoutMs', 'timeout_ms'),
  timeoutSeconds: setting(timeoutSeconds, 'timeoutSeconds', 'timeout_seconds'),
  errorHandling: setting(errorHandling, 'errorHandling', 'error_handling'),
  isDisabled: setting(z.boolean(), 'isDisabled', 'is_disabled'),
  isIdempotent: setting(z.boolean(), 'idempotent'),
  joinMode: setting(z.enum(joinModes), 'joinMode', 'join_mode'),
  onParentFailure: setting(z.enum(['skip', 'propagate', 'substitute_default']), 'onParentFailure', 'on_parent_failure'),
  merge: setting(z.enum(mergeStrategies), 'merge'),
} as const;
const retrySettings = {
  attempts: setting(z.int().min(1).max(maxAttempts), 'attempts'),
  backoffMs: setting(milliseconds(maxRetryBackoff), 'backoffMs', 'backoff_ms'),
  maxBackoffMs: setting(milliseconds(maxRetryBackoff), 'maxBackoffMs', 'max_backoff_ms'),
  retryOn: setting(z.array(z.enum(retryableCauses)), 'retryOn', 'retry_on'),
} as const;

const schemasOf = <Settings extends Readonly<Record<string, Setting<unknown>>>>(settingsByName: Settings) =>
  Object.fromEntries(Object.values(settingsByName).map(({ names, schema }) => [names[0], schema.optional()]));

/** The settings by their canonical names, from which forms are made. */
export const settingsSchema = z.object({ ...schemasOf(settings), retry: z.object(schemasOf(retrySettings)).optional() });

const namesOf = (settingsByName: Readonly<Record<string, Setting<unknown>>>): readonly string[] =>
  Object.values(settingsByName).flatMap(({ names }) => names);

/** All names of settings. */
export const settingKeys: ReadonlySet<string> = new Set([...namesOf(settings), 'retry']);
const retryKeys: ReadonlySet<string> = new Set(namesOf(retrySettings));

export interface Settings {
  readonly policy: NodePolicy;
  readonly findings: readonly ConfigFinding[];
}

export function readSettings(config: JsonObject, defaults: NodeDefaults): Settings {
  const findings: ConfigFinding[] = [];
  const read = reader(config, [], findings);
  read(settings.title);
  read(settings.description);
  const outputVariable = read(settings.outputVariable) ?? defaults.outputVariable;
  const limits = { ms: read(settings.timeoutMs), s: read(settings.timeoutSeconds) };
  if (limits.ms !== undefined && limits.s !== undefined) findings.push(duplicateSetting('timeoutSeconds', 'timeoutMs'));
  const joinMode = read(settings.joinMode) ?? 'all';
  const onParentFailure = read(settings.onParentFailure) ?? 'skip';
  if (joinMode === 'allSucceeded' && onParentFailure === 'substitute_default') findings.push(substituteHasNoEffect);
  const policy: NodePolicy = defined({
    outputVariable,
    joinMode,
    errorHandling: read(settings.errorHandling) ?? 'continue',
    onParentFailure,
    merge: read(settings.merge) ?? 'last_write_wins',
    retry: readRetry(config['retry'], defaults.retry, findings),
    timeoutMs: limits.ms ?? limits.s ?? defaults.timeoutMs,
    isDisabled: read(settings.isDisabled) ?? false,
    isIdempotent: read(settings.isIdempotent) ?? defaults.isIdempotent,
  });
  return { policy, findings };
}

const substituteHasNoEffect: ConfigFinding = {
  code: 'config_invalid',
  path: ['onParentFailure'],
  message:
    'substitute_default has no effect with joinMode allSucceeded, which never runs after a failed parent: set joinMode all, or ' +
    'onParentFailure skip or propagate',
};

function readRetry(config: JsonValue | undefined, defaults: RetryPolicy, findings: ConfigFinding[]): RetryPolicy {
  if (config === undefined) return defaults;
  if (!isJsonObject(config)) {
    findings.push({ code: 'config_invalid', path: ['retry'], message: 'must be an object' });
    return defaults;
  }
  for (const key of Object.keys(config).filter((name) => !retryKeys.has(name)))
    findings.push({
      code: 'config_key_unknown',
      path: ['retry', key],
      message: `retry has no setting ${key}; it has ${Object.keys(retrySettings).join(', ')}`,
    });
  const read = reader(config, ['retry'], findings);
  return {
    attempts: read(retrySettings.attempts) ?? defaults.attempts,
    backoffMs: read(retrySettings.backoffMs) ?? defaults.backoffMs,
    maxBackoffMs: read(retrySettings.maxBackoffMs) ?? defaults.maxBackoffMs,
    retryOn: read(retrySettings.retryOn) ?? defaults.retryOn,
    jitter: defaults.jitter,
  };
}

/** Reads one setting under any of its names; undefined when it is absent or invalid. */
const reader =
  (config: JsonObject, path: readonly string[], findings: ConfigFinding[]) =>
  <Value>({ names, schema }: Setting<Value>): Value | undefined => {
    const spelled = names.filter((name) => Object.hasOwn(config, name));
    const [name = names[0], other] = spelled;
    if (other !== undefined) findings.push(duplicateSetting(other, name, path));
    if (spelled.length === 0) return undefined;
    const result = schema.safeParse(config[name]);
    if (result.success) return result.data;
    for (const issue of result.error.issues)
      findings.push({ code: 'config_invalid', path: [...path, name, ...steps(issue.path)], message: issue.message });
    return undefined;
  };

const duplicateSetting = (name: string, other: string, path: readonly string[] = []): ConfigFinding => ({
  code: 'config_invalid',
  path: [...path, name],
  message: `duplicates ${other}: set only one of them`,
});

/** A zod path as segments of a JSON pointer. */
export const steps = (path: readonly PropertyKey[]): readonly (string | number)[] =>
  path.map((step) => (typeof step === 'number' ? step : String(step)));
