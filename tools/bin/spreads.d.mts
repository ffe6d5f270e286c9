export const needed: boolean;
export const declaration: string;
export function settled(code: string): string;
