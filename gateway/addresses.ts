// Addresses that are asked for by rules of their own.

/** Prefix of routes that are the operators' alone. */
export const adminPrefix = "/v1/admin/";

/** Prefix of routes that speak the format of Anthropic. */
export const messagesPath = "/v1/messages";

export const filesPath = "/v1/files";

export const feedbackPath = "/v1/feedback";

/** All but health, and the page, whose routes ask by its own rule (page/access.ts). */
export const isApi = (url = ""): boolean => url !== "/healthz" && url !== "/" && !url.startsWith("/page/");
