/** Makes some waits of a random workflow longer than the default deadline, without a draw: the rest of the simulation stays the same. */
import type { WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { days } from '../../lib/engine/time.ts';
import type { CodeWorkflow, Part } from './random-code.ts';

/** The first is extended once, the second too, and the last one waits beyond the first expiry of the run's items. */
const longMs = [days(8), days(20), days(50)] as const;
/** Clients send no signal with this key. */
const neverSent = { name: 'signal-of-nobody', correlation: 'nothing' };

/** @returns a number from 0 up to 1 for a name */
type Chance = (name: string) => number;

export interface LongWaits {
  /** of the waits outside loops */
  readonly share: number;
  readonly chance: Chance;
}

export const withLongGraphWaits = (version: WorkflowVersion, long: LongWaits): WorkflowVersion => ({
  ...version,
  nodes: version.nodes.map((node) => {
    const ms = node.id.includes('.') ? undefined : longTime(`${version.name}/${node.id}`, long);
    if (ms === undefined || (node.type !== 'nap' && node.type !== 'wait')) return node;
    const key = node.type === 'wait' && long.chance(`${node.id} is never sent`) < 0.5 ? { ...neverSent, continues: true } : {};
    return { ...node, config: { ...node.config, ...key, ms } };
  }),
});

export const withLongCodeWaits = (workflow: CodeWorkflow, long: LongWaits): CodeWorkflow => ({
  ...workflow,
  part: longPart(workflow.part, workflow.name, long),
});

function longPart(part: Part, path: string, long: LongWaits): Part {
  if ('parts' in part) return { ...part, parts: part.parts.map((each, index) => longPart(each, `${path}.${index}`, long)) };
  const ms = longTime(path, long);
  if (ms === undefined) return part;
  if (part.kind === 'sleep') return { ...part, ms };
  if (part.kind !== 'signal') return part;
  return { ...part, ms, place: long.chance(`${path} is never sent`) < 0.5 ? neverSent : part.place };
}

function longTime(name: string, { share, chance }: LongWaits): number | undefined {
  if (chance(`${name} is long`) >= share) return undefined;
  return longMs[Math.floor(chance(`${name} lasts`) * longMs.length)];
}
