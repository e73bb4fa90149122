/** Stands in for the JSON Schema compiler of lenses in the browser: it evaluates code, which the policy of the page forbids. The server reports what it refuses. */
export const compileSchema = (): { readonly check: () => readonly never[] } => ({ check: () => [] });
