/** The part of tar-fs that the tests use; the package has no types. */
declare module 'tar-fs' {
  export function extract(directory: string): NodeJS.WritableStream;
}
