export interface Bound { readonly atLeast: number; readonly atMost: number }
