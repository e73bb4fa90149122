/**
 * A Chromium that comes with `npm ci`: the compressed one of `@sparticuz/chromium`, unpacked once into a folder of this user. Its own
 * start arguments turn the browser's security off, so only its files are used. Set STEPWELL_CHROMIUM to use another executable.
 */
import { createReadStream, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { createWriteStream } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { extract } from 'tar-fs';
import * as z from 'zod';

const require = createRequire(import.meta.url);
const packageFile = require.resolve('@sparticuz/chromium').replace(/build[/\\].*$/, 'package.json');
const { version } = z.looseObject({ version: z.string() }).parse(JSON.parse(readFileSync(packageFile, 'utf8')));

/** Unpacks the browser, its libraries and its font. Several processes can do so at the same time. */
async function unpacked(): Promise<string> {
  const folder = join(tmpdir(), `stepwell-chromium-${version}-${userInfo().uid}`);
  if (existsSync(folder)) return folder;
  const bin = join(dirname(packageFile), 'bin');
  const fresh = mkdtempSync(`${folder}-`);
  await Promise.all([
    pipeline(
      createReadStream(join(bin, 'chromium.br')),
      createBrotliDecompress(),
      createWriteStream(join(fresh, 'chromium'), { mode: 0o755 }),
    ),
    pipeline(createReadStream(join(bin, 'al2023.tar.br')), createBrotliDecompress(), extract(fresh)),
    pipeline(createReadStream(join(bin, 'fonts.tar.br')), createBrotliDecompress(), extract(fresh)),
  ]);
  // The font configuration of the package points into the temporary folder of Lambda.
  mkdirSync(join(fresh, 'fontconfig'));
  writeFileSync(
    join(fresh, 'fontconfig', 'fonts.conf'),
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${folder}</dir><cachedir>${folder}/fontconfig</cachedir></fontconfig>`,
  );
  try {
    renameSync(fresh, folder);
  } catch (error) {
    // Another process was first.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

export async function launchBrowser(): Promise<Browser> {
  const own = process.env['STEPWELL_CHROMIUM'];
  if (own !== undefined) return chromium.launch({ executablePath: own, args: ['--no-sandbox'] });
  const folder = await unpacked();
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    args: ['--no-sandbox'],
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_PATH: join(folder, 'fontconfig') },
  });
}
