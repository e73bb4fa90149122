/**
 * Maps the stacks of a deployment's errors from the bundled module to the author's files. The source map is in the artifact, beside the
 * module. It is read at the first error, so that runs without errors cost nothing.
 */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { StackMapper } from '../program/failures.ts';

const sourceMap = z.object({
  version: z.number(),
  file: z.string().default(''),
  sources: z.array(z.string()),
  sourcesContent: z.array(z.string()).default([]),
  names: z.array(z.string()),
  mappings: z.string(),
  sourceRoot: z.string().default(''),
});

/**
 * Replaces each position in the module by its source, relative to the project, and omits frames of other modules.
 * @param program file URL of the module; its source map has the same name and `.map`
 */
export function createStackMapper(program: string): StackMapper {
  let map: SourceMap | undefined | 'unread' = 'unread';
  const position = /:(\d+):(\d+)/;
  return (stack) => {
    if (map === 'unread') map = readMap(new URL(`${program}.map`));
    const origins = map;
    const sourceOf = (line: number, column: number): string | undefined => {
      // Source maps count from 0.
      const entry = origins?.findEntry(line - 1, column - 1);
      return entry === undefined || !('originalSource' in entry)
        ? undefined
        : `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    };
    const mapFrame = (frame: string): string[] => {
      const start = frame.indexOf(program);
      const [whole, line, column] = start === -1 ? [] : (position.exec(frame.slice(start + program.length)) ?? []);
      if (whole === undefined) return [];
      const end = start + program.length + whole.length;
      const source = sourceOf(Number(line), Number(column)) ?? `${program.slice(program.lastIndexOf('/') + 1)}${whole}`;
      return [`${frame.slice(0, start)}${source}${frame.slice(end)}`];
    };
    return stack
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .flatMap(mapFrame)
      .join('\n');
  };
}

/** Undefined if the deployment has no readable source map. */
function readMap(url: URL): SourceMap | undefined {
  try {
    return new SourceMap(sourceMap.parse(JSON.parse(readFileSync(fileURLToPath(url), 'utf8'))));
  } catch {
    return undefined;
  }
}
