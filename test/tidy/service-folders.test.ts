/** The folders of `lib/service` import in the order that docs/ARCHITECTURE.md lists, so that no imports between them form a cycle. */
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { read } from '../docs/documents.ts';
import { importsOf } from './imports.ts';
import { type SourceFile, filesBelow, foldersIn } from './source-files.ts';

const root = 'lib/service';
const table = read('docs/ARCHITECTURE.md').split('Folders of `lib/service`, from the lowest level to the highest.')[1] ?? '';
const order = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| `([a-z-]+)` /gm)].map(([, name]) => name ?? '');

/** The folder of a path; undefined for the files beside the folders, which define types that several folders share. */
const folderOf = (path: string): string | undefined => {
  const [first, ...rest] = posix.relative(root, path).split('/');
  return rest.length === 0 ? undefined : first;
};

const upwardImports = (file: SourceFile): readonly string[] => {
  const own = folderOf(file.path);
  if (own === undefined) return [];
  return importsOf(file).flatMap((name) => {
    const target = posix.join(posix.dirname(file.path), name);
    const folder = target.startsWith(`${root}/`) ? folderOf(target) : undefined;
    return folder !== undefined && order.indexOf(folder) > order.indexOf(own) ? [`${file.path} imports ${target}`] : [];
  });
};

test('the table lists every folder of the service', () => {
  expect(order.toSorted()).toEqual(foldersIn(root).toSorted());
});

test('a folder imports only from folders above it in the table', () => {
  expect(filesBelow([root], ['.ts']).flatMap(upwardImports)).toEqual([]);
});

test('an import of a higher folder is found', () => {
  const planted = { path: 'lib/service/commit/planted.ts', text: "import { runKinds } from '../kinds/run-kinds.ts';" };
  expect(upwardImports(planted)).toHaveLength(1);
});
