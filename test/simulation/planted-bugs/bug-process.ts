/** A process that is loaded with one bug in it, and tries seeds until one shows it. */
import { registerHooks } from 'node:module';
import { edited, editsOf } from './bug.ts';
import { type Found, taskSchema } from './find-bug.ts';
import { bugCalled } from './list.ts';

const { name: wanted, isWhole } = taskSchema.parse(JSON.parse(process.argv[2] ?? ''));
const asked = bugCalled(wanted);
const edits = isWhole ? editsOf(asked) : (asked.and ?? []);

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const own = edits.filter(({ file }) => url.endsWith(`/${file}`));
    if (own.length === 0) return loaded;
    const { source } = loaded;
    if (source === undefined || source === null) throw new Error(`${url} has no source`);
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
    return { ...loaded, source: own.reduce(edited, text) };
  },
});

// Only now: what is loaded before stays as it is.
const { simulate } = await import('../simulation.ts');
const { scenes } = await import('../scenes.ts');
const { weathers } = await import('./weathers.ts');

async function found(): Promise<Found> {
  const { weather = 'rough', options, scene, within } = asked;
  const rates = weathers[weather];
  const play = scene === undefined ? (seed: number) => simulate({ ...options, rates, seed }) : scenes[scene];
  for (let seed = 1; seed <= within; seed += 1) {
    try {
      await play(seed);
    } catch (trouble) {
      const isCatch = trouble instanceof Error && /^(Violation|InvariantViolation)$/.test(trouble.name);
      // Any other error would be a fault of the simulation, which must not pass for a catch.
      if (isCatch) return { kind: 'caught', seed, by: trouble.message };
      return { kind: 'broke', seed, by: trouble instanceof Error ? (trouble.stack ?? trouble.message) : String(trouble) };
    }
  }
  return { kind: 'survived', seed: within };
}

process.send?.(await found());
