/**
 * What one process of the run compiles, the others read: modules without their types take half of the start of a process or thread.
 * The same folder as that of `bin/check-node.mjs`. A run that measures coverage is without it, which vitest sees to.
 */
import { fileURLToPath } from 'node:url';

export default function openCompileCache(): void {
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('../node_modules/.cache/stepwell-compiled', import.meta.url));
}
