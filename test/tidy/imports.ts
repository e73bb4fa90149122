/** Finds the imports of a file, and those that the module rules forbid. */
import { posix } from 'node:path';
import {
  type ModuleName,
  baseModule,
  impureGlobals,
  isModule,
  isWiring,
  timeModulePath,
  modules,
  rootModules,
  wiringOnly,
} from './module-rules.ts';
import { type SourceFile, withoutComments } from './source-files.ts';

/** `import … from`, `export … from` (over several lines too), `import '…'`, `import('…')`, as value and as type, and `require('…')`. */
const forms = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]/g,
  /\brequire\(\s*['"]([^'"]+)['"]/g,
];

export const importsOf = (file: SourceFile): readonly string[] => {
  const code = withoutComments(file.text);
  return forms.flatMap((form) => [...code.matchAll(form)].map(([, name]) => name ?? ''));
};

/** The module of a path: `engine` for `lib/engine/ids.ts`, `functions` for `functions/api/handler.ts`. */
export const moduleOf = (path: string): string => {
  const [top = '', next = ''] = path.split('/');
  return top === 'lib' ? next : top;
};

export const violationsOf = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap((file) => {
    const own = moduleOf(file.path);
    if (!isModule(own) || rootModules.includes(own) === file.path.startsWith('lib/'))
      return [`${file.path} belongs to no module`];
    return [...importsOf(file).flatMap((name) => refusal(file, own, name) ?? []), ...impurities(file, own)];
  });

const refusal = (file: SourceFile, own: ModuleName, name: string): string | undefined => {
  const { modules: allowed, packages, node } = modules[own];
  if (name.startsWith('.')) {
    const target = moduleOf(posix.join(posix.dirname(file.path), name));
    if (target === own || target === baseModule) return undefined;
    if (!allowed.some((module) => module === target)) return `${file.path} imports ${name}: ${own} may not use ${target}`;
    const isForWiring = wiringOnly[own]?.some((module) => module === target) === true;
    return isForWiring && !isWiring(file.path) ? `${file.path} imports ${name}: only a wiring file may use ${target}` : undefined;
  }
  if (name.startsWith('node:')) {
    const isAllowed = node === 'any' || node.some((one) => name === `node:${one}` || name.startsWith(`node:${one}/`));
    return isAllowed ? undefined : `${file.path} imports ${name}: ${own} may not use that module of Node`;
  }
  return packages.some((one) => matches(one, name)) ? undefined : `${file.path} imports ${name}: ${own} may not use that package`;
};

/** `zod` allows `zod` and `zod/v4`; `@aws-sdk/*` allows all of its scope. */
const matches = (allowed: string, name: string): boolean =>
  allowed.endsWith('/*') ? name.startsWith(allowed.slice(0, -1)) : name === allowed || name.startsWith(`${allowed}/`);

const impurities = (file: SourceFile, own: ModuleName): readonly string[] => {
  if (own !== 'engine' || file.path === timeModulePath) return [];
  return withoutComments(file.text)
    .split('\n')
    .flatMap((line, index) => {
      const found = impureGlobals.exec(line.replaceAll(/'[^']*'/g, "''"));
      return found === null
        ? []
        : [`${file.path}:${index + 1} uses ${found[0]}: time and randomness are parameters of the engine`];
    });
};
