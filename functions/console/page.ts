/** The files of the console: the page, and the assets beside it, which are compressed when they are built. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** The compressed forms of an asset, the smallest first, by their content coding. */
const compressedForms = [
  { coding: 'br', extension: '.br' },
  { coding: 'gzip', extension: '.gz' },
] as const;

type ContentCoding = (typeof compressedForms)[number]['coding'];

export interface Asset {
  readonly contentType: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly compressed: readonly { readonly coding: ContentCoding; readonly bytes: Buffer }[];
}

export interface ConsoleFiles {
  /** Undefined if there is no such asset. A name is looked up in the list of names, so it cannot leave the directory. */
  asset(name: string): Asset | undefined;
  /** The page, for a base that leads to the root of the stage. */
  page(base: string, nonce: string): string;
}

const isCompressed = (name: string): boolean => compressedForms.some(({ extension }) => name.endsWith(extension));

/** @param directory has `index.html`, and `assets` with hashed names */
export function readConsoleFiles(directory: string): ConsoleFiles {
  const folder = join(directory, 'assets');
  const names = new Set(readdirSync(folder).filter((name) => !isCompressed(name)));
  const template = readFileSync(join(directory, 'index.html'), 'utf8');
  const assets = new Map<string, Asset>();

  const read = (name: string): Asset => {
    const plain = readFileSync(join(folder, name));
    return {
      contentType: contentTypes[extname(name)] ?? 'application/octet-stream',
      etag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
      plain,
      compressed: compressedForms.flatMap(({ coding, extension }) => {
        const file = join(folder, `${name}${extension}`);
        return existsSync(file) ? [{ coding, bytes: readFileSync(file) }] : [];
      }),
    };
  };

  return {
    asset(name) {
      if (!names.has(name)) return undefined;
      const asset = assets.get(name) ?? read(name);
      assets.set(name, asset);
      return asset;
    },
    // A function as the replacement: a text could contain `$&`.
    page: (base, nonce) => template.replaceAll('{{base}}', () => base).replaceAll('{{nonce}}', () => nonce),
  };
}

/** Allows the page one style element, in one response. */
export const newNonce = (): string => randomBytes(16).toString('base64url');

/** https://www.w3.org/TR/CSP3/. Scripts come from files of this API only, and no script inserts markup as text. */
export const contentSecurityPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
