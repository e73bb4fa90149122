import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validateArchive, sha256, archiveLimits } from '../../lib/artifact/archive-rules.ts';
import { packArchive } from '../../lib/artifact/pack-archive.ts';
import { readArchive } from '../../lib/artifact/read-archive.ts';
import { archiveOf, bytesOf, tarOf } from './archives.ts';

const files = new Map([
  ['b/step.js', bytesOf('export const two = 2;')],
  ['a.js', bytesOf('export const one = 1;')],
  ['empty.txt', bytesOf('')],
  [`${'deep/'.repeat(60)}long.js`, bytesOf('ü')],
]);
const textsOf = (read: Awaited<ReturnType<typeof readArchive>>) =>
  read.kind === 'read'
    ? Object.fromEntries([...read.files].map(([path, content]) => [path, Buffer.from(content).toString()]))
    : read;

describe('packing', () => {
  test('a packed archive is read back sorted, and matches its file list', async () => {
    const packed = await packArchive(files);
    const read = await readArchive(packed.archive);
    expect(textsOf(read)).toEqual(
      Object.fromEntries([...files].map(([path, content]) => [path, Buffer.from(content).toString()])),
    );
    if (read.kind !== 'read') throw new Error('it was refused');
    expect([...read.files.keys()]).toEqual([...files.keys()].toSorted());
    expect(validateArchive(read.files, packed.files)).toEqual([]);
    expect(packed.artifact).toEqual({ sha256: sha256(packed.archive), bytes: packed.archive.byteLength });
  });

  test('equal files give equal bytes, in any order', async () => {
    const [one, other] = await Promise.all([packArchive(files), packArchive(new Map([...files].toReversed()))]);
    expect(Buffer.from(one.archive).equals(Buffer.from(other.archive))).toBe(true);
  });
});

test('an archive with folder entries is read, and the folder entries are ignored', async () => {
  const archive = await archiveOf([
    { name: './', type: 'directory' },
    { name: './a/', type: 'directory' },
    { name: './a/flow.js', content: 'one' },
    { name: 'step.js', content: 'two' },
  ]);
  expect(textsOf(await readArchive(archive))).toEqual({ 'a/flow.js': 'one', 'step.js': 'two' });
});

describe('a hostile or broken archive is refused:', () => {
  const small = { archiveBytes: 1_000_000, unpackedBytes: 100_000, entries: 10, pathBytes: 64 };
  const honest = [{ name: 'a.js', content: 'x'.repeat(5_000) }];
  const names = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `file-${index}` }));

  test.for<[string, () => Promise<Uint8Array>, string, string?]>([
    ['no bytes', async () => new Uint8Array(), 'truncated'],
    ['no gzip', async () => bytesOf('hello'), 'not_gzip'],
    ['a plain tar', () => tarOf(honest), 'not_gzip'],
    ['gzip of no tar', async () => gzipSync('x'.repeat(2_000)), 'not_tar'],
    ['half the gzip', async () => (await archiveOf(honest)).subarray(0, 60), 'truncated'],
    ['half the tar', async () => gzipSync((await tarOf(honest)).subarray(0, 2_000)), 'truncated'],
    ['gzip that is damaged', async () => damaged(await archiveOf([{ name: 'a', content: randomBytes(500) }])), 'not_gzip'],
    ['more than may be uploaded', async () => new Uint8Array(small.archiveBytes + 1), 'archive_too_large'],
    ['a bomb', async () => gzipSync(new Uint8Array(50_000_000)), 'unpacked_too_large'],
    ['too many entries', () => archiveOf(names(11)), 'too_many_entries'],
    [
      'too many folders',
      () => archiveOf(names(11).map((entry) => ({ ...entry, type: 'directory' as const }))),
      'too_many_entries',
    ],
    ['a path above', () => archiveOf([{ name: '../a.js' }]), 'path_unsafe', '../a.js'],
    ['a path above, further in', () => archiveOf([{ name: 'a/../../b.js' }]), 'path_unsafe', 'a/../../b.js'],
    ['a folder above', () => archiveOf([{ name: '../up/', type: 'directory' }]), 'path_unsafe', '../up/'],
    ['an absolute path', () => archiveOf([{ name: '/etc/passwd' }]), 'path_unsafe', '/etc/passwd'],
    ['an absolute path behind a dot', () => archiveOf([{ name: './/etc/passwd' }]), 'path_unsafe', './/etc/passwd'],
    ['a backslash', () => archiveOf([{ name: '..\\a.js' }]), 'path_unsafe', '..\\a.js'],
    ['a drive', () => archiveOf([{ name: 'c:a.js' }]), 'path_unsafe', 'c:a.js'],
    ['a line break', () => archiveOf([{ name: 'a\nb' }]), 'path_unsafe', 'a\nb'],
    ['an empty step', () => archiveOf([{ name: 'a//b' }]), 'path_unsafe', 'a//b'],
    ['a long path', () => archiveOf([{ name: 'x'.repeat(65) }]), 'path_too_long', 'x'.repeat(64)],
    ['a long path of few letters', () => archiveOf([{ name: 'ü'.repeat(33) }]), 'path_too_long', 'ü'.repeat(33)],
    ['a symbolic link', () => archiveOf([{ name: 'a', type: 'symlink', linkname: '/etc' }]), 'entry_not_file', 'a'],
    ['a hard link', () => archiveOf([{ name: 'a', type: 'link', linkname: 'b' }]), 'entry_not_file', 'a'],
    ['a device', () => archiveOf([{ name: 'a', type: 'character-device' }]), 'entry_not_file', 'a'],
    ['a disk', () => archiveOf([{ name: 'a', type: 'block-device' }]), 'entry_not_file', 'a'],
    ['a pipe', () => archiveOf([{ name: 'a', type: 'fifo' }]), 'entry_not_file', 'a'],
    ['one path twice', () => archiveOf([{ name: 'a' }, { name: './a' }]), 'duplicate_path', './a'],
    ['a file that is a folder', () => archiveOf([{ name: 'a/b' }, { name: 'a' }]), 'duplicate_path', 'a'],
  ])('%s', async ([, make, code, path]) => {
    const read = await readArchive(await make(), small);
    expect(read).toEqual({ kind: 'refused', code, message: expect.any(String), ...(path === undefined ? {} : { path }) });
  });

  test('the limits themselves are allowed', async () => {
    expect(await readArchive(await archiveOf(names(10)), small)).toMatchObject({ kind: 'read' });
    expect(await readArchive(await archiveOf([{ name: 'x'.repeat(64) }]), small)).toMatchObject({ kind: 'read' });
  });

  test('a decompression bomb is refused at the limit, without unpacking it in memory', async () => {
    const bomb = gzipSync(new Uint8Array(archiveLimits.unpackedBytes + 1_000_000));
    expect(bomb.byteLength).toBeLessThan(1_000_000);
    expect(await readArchive(bomb, { ...archiveLimits, unpackedBytes: 1_000_000 })).toMatchObject({ code: 'unpacked_too_large' });
  });

  test('no input makes it throw, compressed or not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 3_000 }), fc.boolean(), async (bytes, isZipped) => {
        const read = await readArchive(isZipped ? gzipSync(bytes) : bytes, small);
        expect(['read', 'refused']).toContain(read.kind);
      }),
      { numRuns: 300 },
    );
  });

  test('no changed byte of a valid archive makes it throw', async () => {
    const tar = await tarOf([...honest, { name: `${'long/'.repeat(50)}path`, content: 'y' }]);
    await fc.assert(
      fc.asyncProperty(fc.nat(tar.byteLength - 1), fc.nat(255), async (at, value) => {
        const changed = Buffer.from(tar);
        changed.writeUInt8(value, at);
        const read = await readArchive(gzipSync(changed));
        expect(['read', 'refused']).toContain(read.kind);
      }),
      { numRuns: 300 },
    );
  });
});

const damaged = (archive: Buffer): Buffer => {
  const copy = Buffer.from(archive);
  copy.writeUInt8(copy.readUInt8(200) ^ 0xff, 200);
  return copy;
};

describe('an archive is checked against its manifest:', () => {
  const content = bytesOf('one');
  const promised = { path: 'a.js', sha256: sha256(content), bytes: 3 };

  test.for<[string, readonly (readonly [string, string])[], readonly object[]]>([
    ['it is what it says', [['a.js', 'one']], []],
    ['a file is missing', [], [{ code: 'file_missing', path: 'a.js' }]],
    [
      'a file is not in the manifest',
      [
        ['a.js', 'one'],
        ['b.js', ''],
      ],
      [{ code: 'file_unexpected', path: 'b.js' }],
    ],
    ['a file has other bytes', [['a.js', 'two']], [{ code: 'file_digest_differs', path: 'a.js' }]],
    ['a file has another size', [['a.js', 'three']], [{ code: 'file_size_differs', path: 'a.js' }]],
    [
      'a name differs in case',
      [['A.js', 'one']],
      [
        { code: 'file_missing', path: 'a.js' },
        { code: 'file_unexpected', path: 'A.js' },
      ],
    ],
  ])('%s', ([, given, findings]) => {
    const found = validateArchive(new Map(given.map(([path, text]) => [path, bytesOf(text)])), [promised]);
    expect(found).toEqual(findings.map((finding) => ({ ...finding, message: expect.any(String) })));
  });
});
