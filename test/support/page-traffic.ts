// Traffic for the page: questions to a help desk of an imaginary camera shop, what a small and a
// large model answered, and what was thought of it. Written for this test; figures mean nothing.

export interface Asked {
  question: string;
  small: string;
  large: string;
  /** What customers think of the small model's answer: 0 or 1. */
  good: boolean;
}

const one = (question: string, small: string, large: string, good = true): Asked => ({ question, small, large, good });

export const traffic: readonly Asked[] = [
  one(
    "How do I reset the camera to factory settings?",
    "Menu › Setup › Reset, then confirm.",
    "Open Menu › Setup › Reset › All settings and confirm. Your photos stay on the card.",
  ),
  one(
    "Which memory cards does the M40 take?",
    "SD cards up to 512 GB.",
    "SD, SDHC and SDXC up to 512 GB; take UHS-II for bursts in raw.",
  ),
  one(
    "The battery drains overnight, why?",
    "It is broken.",
    "Most likely Bluetooth pairing stays on: switch off Setup › Wireless › Stay connected.",
    false,
  ),
  one(
    "Can I return a lens after 30 days?",
    "Yes.",
    "Returns are free for 30 days. After that we repair under warranty, but do not refund.",
    false,
  ),
  one(
    "How do I update the firmware?",
    "Copy the file to the card and choose Setup › Firmware.",
    "Copy the .fw file to the root of a formatted card, then Setup › Firmware › Update. Keep the battery above half.",
  ),
  one(
    "What does error E-17 mean?",
    "E-17 means the lens contacts are dirty.",
    "E-17: the camera can't talk to the lens. Clean the contacts with a dry cloth and mount it again.",
  ),
  one(
    "Where is my order?",
    "Look at the link in your confirmation mail.",
    "Your confirmation mail has a tracking link; orders leave our store within one working day.",
  ),
  one(
    "How do I clean the sensor?",
    "Blow it out with compressed air.",
    "Setup › Clean sensor first. Then a hand blower, never compressed air: it leaves drops.",
    false,
  ),
  one(
    "Does the warranty cover water damage?",
    "No.",
    "No: the warranty covers faults of material and manufacture. Our damage protection covers water.",
  ),
  one(
    "How do I connect the camera to my phone?",
    "Install the app and pair by Bluetooth.",
    "Install the app, then Menu › Wireless › Pair. Hold the phone within a metre until both show the same number.",
  ),
  one(
    "Why are my photos blurry at night?",
    "Use a flash.",
    "The shutter is open for long in the dark: raise ISO to 1600, open the aperture, or use a tripod.",
  ),
  one(
    "How can I shoot in raw?",
    "Menu › Image › Quality › Raw.",
    "Menu › Image › Quality › Raw, or Raw + JPEG to have both.",
  ),
  one(
    "Is the body weather sealed?",
    "Yes, it is weather sealed.",
    "The body is sealed against dust and splashes; with a sealed lens it takes light rain.",
  ),
  one(
    "How do I set a custom white balance?",
    "Photograph something white and choose Custom.",
    "Photograph a grey card in the light that you have, then Menu › Image › White balance › Custom.",
  ),
  one(
    "Can I pay by invoice?",
    "Yes, companies can.",
    "Companies can pay by invoice within 14 days; choose it at the checkout and enter your tax number.",
  ),
  one(
    "How do I turn off the shutter sound?",
    "Menu › Sound › Off.",
    "Menu › Sound › Shutter › Off; the electronic shutter is silent in any case.",
  ),
  one(
    "What is the flash sync speed?",
    "1/200 s.",
    "1/250 s with the mechanical shutter; the electronic one can't be used with flash.",
    false,
  ),
  one(
    "How do I format a card?",
    "Menu › Setup › Format.",
    "Menu › Setup › Format card. All photos on it are gone then, so copy them first.",
  ),
  one(
    "Can I use lenses of the old mount?",
    "Yes, with the adapter.",
    "Yes, with adapter MA-2; autofocus works with lenses from 2011 on.",
  ),
  one(
    "How long does a repair take?",
    "About a week.",
    "Seven to ten working days from the day we receive it; you get a mail at each step.",
  ),
];

/** Inputs that try to break the page. */
export const hostile: readonly string[] = [
  '<script>window.broken = "script"</script><img src=x onerror="window.broken=1">',
  "</textarea></pre></title><svg onload=window.broken=2>",
  "\u202Eesrever ni gnihtyreve syas siht\u202C مرحبا بالعالم",
];

export const domain = "help";

/** Lines of an arm's recorded answers. */
export const linesOf = (arm: "small" | "large"): string =>
  [
    ...traffic.map((asked) => ({ request: asked.question, response: asked[arm] })),
    ...hostile.map((request) => ({ request, response: request })),
  ]
    .map((line) => JSON.stringify(line))
    .join("\n");
