/** Golden counts: the recorded bill of a scenario. Every change of a count shows in the diff. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { type Bill, type LineKind, lineKinds } from './bill.ts';

const boundShape = z.strictObject({ atLeast: z.number(), atMost: z.number() });
/** Bounds of a count that depends on timing. */
export type Bound = z.infer<typeof boundShape>;

/** The execution time of functions depends on the machine and is not counted. */
const countedKinds = lineKinds.filter((kind): kind is Exclude<LineKind, 'gbSeconds'> => kind !== 'gbSeconds');

const countsShape = z.record(z.string(), z.record(z.string(), z.union([z.number(), boundShape])));
export type Golden = z.infer<typeof countsShape>;

/** The bill in the form of the golden file. @param bounds by `kind.part` */
export function goldenOf(bill: Bill, bounds: Readonly<Record<string, Bound>>): Golden {
  const boundsOf = (kind: string): readonly (readonly [string, Bound])[] =>
    Object.entries(bounds).flatMap(([path, bound]) =>
      path.startsWith(`${kind}.`) ? [[path.slice(kind.length + 1), bound]] : [],
    );
  return Object.fromEntries(
    countedKinds.flatMap((kind) => {
      const parts = Object.entries({ ...bill[kind], ...Object.fromEntries(boundsOf(kind)) });
      return parts.length === 0 ? [] : [[kind, Object.fromEntries(parts.toSorted(([one], [other]) => (one < other ? -1 : 1)))]];
    }),
  );
}

/** Differences between the bill and the golden counts, one message each. Lower counts are differences too. */
export function differences(golden: Golden, bill: Bill): readonly string[] {
  return countedKinds.flatMap((kind) => {
    const expected = golden[kind] ?? {};
    const parts = new Set([...Object.keys(expected), ...Object.keys(bill[kind])]);
    return [...parts].flatMap((part) => {
      const [counted, wanted] = [bill[kind][part] ?? 0, expected[part] ?? 0];
      if (typeof wanted === 'number') return counted === wanted ? [] : [`${kind}.${part} is ${counted}, but was ${wanted}`];
      const isWithin = counted >= wanted.atLeast && counted <= wanted.atMost;
      return isWithin ? [] : [`${kind}.${part} is ${counted}, but must be from ${wanted.atLeast} to ${wanted.atMost}`];
    });
  });
}

const fileOf = (name: string): string => fileURLToPath(new URL(`golden/${name}.json`, import.meta.url));

/** Undefined if the scenario has no file. */
export const readGolden = (name: string): Golden | undefined =>
  existsSync(fileOf(name)) ? countsShape.parse(JSON.parse(readFileSync(fileOf(name), 'utf8'))) : undefined;

export const writeGolden = (name: string, golden: Golden): void =>
  writeFileSync(fileOf(name), `${JSON.stringify(golden, null, 2)}\n`);
