/** Looks up a named value of a setting: by project, then by environment or `*`, then by name. */
import type { Scope } from '../../engine/ids.ts';

export type NamedByScope<Value> = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Value>>>>>>;

/** A value for the environment takes precedence over a value for `*`. */
export function findNamedValue<Value>(
  list: NamedByScope<Value>,
  { projectId, environment }: Scope,
  name: string,
): Value | undefined {
  const project = ownProperty(list, projectId);
  const candidates = project === undefined ? [] : [ownProperty(project, environment), ownProperty(project, '*')];
  return candidates
    .map((values) => (values === undefined ? undefined : ownProperty(values, name)))
    .find((value) => value !== undefined);
}

const ownProperty = <Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;
